"""What a command leaves behind: lists, settings, the reduced table; each file whole or absent."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._files import write_whole
from rowsparse.workflow.delimited import read_delimited, sniff
from rowsparse.workflow.errors import InputError
from rowsparse.workflow.loading import format_of, load, require_anndata
from rowsparse.workflow.panics import require_polars
from rowsparse.workflow.results import ComparisonResult, PathResult, SelectionResult
from rowsparse.workflow.table import Table

__all__ = [
    "prepare_folder",
    "write_comparison",
    "write_path",
    "write_reduced",
    "write_selection",
    "write_text",
]


def prepare_folder(out: Path) -> bool:
    """Make the folder and try to write in it, before any time is spent; True if it is new."""
    from tempfile import TemporaryFile

    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=out):
        pass
    return new


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""

    def write(temporary: Path) -> None:
        # Names may hold halves of characters, which no encoding has.
        data = text.encode("utf-8", errors="backslashreplace")
        with temporary.open("wb") as stream:
            stream.write(data)

    write_whole(path, write)


# ---------------------------------------------------------------------------------- features
def write_selection(out: Path, result: SelectionResult) -> list[Path]:
    """features.csv and result.json."""
    header = [
        "rank", "feature", "column", "score", "frequency", "frequency_low", "frequency_high",
        "speaks_for",
    ]  # fmt: skip
    width = max((len(feature.coefficients) for feature in result.features), default=0)
    names = result.data.classes if len(result.data.classes) == width else result.data.targets
    header += [f"coefficient of {name}" for name in names] if len(names) == width else []
    rows = []
    for feature in result.features:
        low, high = feature.frequency_interval or (None, None)
        row = [feature.rank, feature.name, feature.index, feature.score, feature.frequency]
        row += [low, high, feature.speaks_for]
        rows.append([*row, *feature.coefficients] if len(names) == width else row)
    listing = _csv(out / "features.csv", header, rows)
    return [listing, _json(out / "result.json", _selection_record(result))]


def _selection_record(result: SelectionResult) -> dict[str, Any]:
    """All figures of a selection, and all it takes to repeat it."""
    proof = result.certificate
    return {
        "command": result.settings.get("command"),
        "settings": result.settings,
        "versions": result.versions,
        "data": asdict(result.data),
        "method": result.method,
        "reference": result.method_reference,
        "k": result.k,
        "k_was_chosen": result.k_was_chosen,
        "features": [asdict(feature) for feature in result.features],
        "objective": result.objective,
        "lower_bound": None if proof is None else proof.lower_bound,
        "gap": None if proof is None else proof.gap,
        "status": None if proof is None else proof.status,
        "nodes": None if proof is None else proof.n_nodes,
        "converged": result.converged,
        "metric": result.metric,
        "score": result.score,
        "score_sd": result.score_sd,
        "baseline_score": result.baseline_score,
        "chance_score": result.chance_score,
        "stability": result.stability,
        "curve": None if result.curve is None else asdict(result.curve),
        "confusion": None if result.confusion is None else asdict(result.confusion),
        "alternatives": {
            feature.name: [asdict(other) for other in others]
            for feature, others in zip(result.features, result.alternatives, strict=True)
        },
        "seconds": result.seconds,
        "warnings": result.warnings,
    }


# ------------------------------------------------------------------------- comparison and path
def write_comparison(out: Path, result: ComparisonResult) -> list[Path]:
    """comparison.csv, with a row for each method, k, judge and fold, and result.json."""
    curve = result.curve
    rows = [record.flat() for record in curve.records]
    header = list(dict.fromkeys(key for row in rows for key in row))
    listing = _csv(
        out / "comparison.csv", header, ([row.get(key) for key in header] for row in rows)
    )
    means = {what: curve.mean(what) for what in (*curve.metrics, "redundancy", "seconds")}
    record = {
        "command": result.settings.get("command"),
        "settings": result.settings,
        "versions": result.versions,
        "data": asdict(result.data),
        "judge": curve.estimators[0],
        "results": [
            {
                "method": name,
                "k": k,
                **{what: values[i, j] for what, values in means.items()},
                f"{curve.metrics[0]}_sd": curve.sd(curve.metrics[0])[i, j],
                "stability": curve.stability(name, k),
            }
            for i, name in enumerate(curve.selectors)
            for j, k in enumerate(curve.ks)
        ],
        "seconds": result.seconds,
        "warnings": result.warnings,
    }
    return [listing, _json(out / "result.json", record)]


def write_path(out: Path, result: PathResult) -> list[Path]:
    """path.csv, with a row for each k, and result.json."""
    curve = result.curve
    named = [[result.names[j] for j in support.tolist()] for support in result.supports]
    rows = [
        [k, objective, mean, sd, json.dumps(names, ensure_ascii=False)]
        for k, objective, mean, sd, names in zip(
            result.ks, result.objectives, curve.mean, curve.sd, named, strict=True
        )
    ]
    header = ["k", "objective", curve.metric, f"{curve.metric}_sd", "features"]
    listing = _csv(out / "path.csv", header, rows)
    record = {
        "command": result.settings.get("command"),
        "settings": result.settings,
        "versions": result.versions,
        "data": asdict(result.data),
        "curve": asdict(curve),
        "objectives": result.objectives,
        "supports": named,
        "seconds": result.seconds,
        "warnings": result.warnings,
    }
    return [listing, _json(out / "result.json", record)]


def _csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    from io import StringIO

    buffer = StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if _is_nan(cell) else cell for cell in row] for row in rows)
    write_text(path, buffer.getvalue())
    return path


def _json(path: Path, record: dict[str, Any]) -> Path:
    write_text(path, json.dumps(_plain(record), indent=1, ensure_ascii=False) + "\n")
    return path


def _plain(value: Any) -> Any:
    """What JSON has words for; numbers that are none become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, os.PathLike) else value


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


# --------------------------------------------------------------------------- the reduced table
def write_reduced(out: Path, table: Table, result: SelectionResult) -> Path:
    """The targets, the identifiers and the selected columns, as they are in the input.

    The file is called ``reduced`` and of the type of the input.
    """
    kind = format_of(table.path)
    packed = table.path.suffix.lower() == ".gz"
    suffix = "".join(table.path.suffixes[-2:]) if packed else table.path.suffix
    path = out / f"reduced{suffix}"
    if path.resolve() == table.path.resolve():
        raise InputError(f"--transform would overwrite the input: choose another --out than {out}.")
    chosen = {table.origin(feature.index) for feature in result.features}
    write_whole(path, _WRITERS[kind](table, chosen))
    return path


def _kept(table: Table, chosen: set[str], columns: Sequence[str]) -> list[str]:
    wanted = chosen | set(table.target.names) | set(table.identifiers)
    return [name for name in columns if name in wanted]


def _write_text_table(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    import gzip

    frame, _ = read_delimited(table.path, as_text=True)
    part = frame.select(_kept(table, chosen, frame.columns))
    data = part.write_csv(separator=sniff(table.path).separator).encode()

    def write(path: Path) -> None:
        packed = path.suffix.lower() == ".gz"
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)

    return write


def _write_frame(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    polars = require_polars()
    parquet = format_of(table.path) == "parquet"
    frame = polars.read_parquet(table.path) if parquet else load(table.path).frame
    part = frame.select(_kept(table, chosen, frame.columns))
    return part.write_parquet if parquet else part.write_ipc


def _write_npz(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    arrays = _reduced_arrays(table, chosen)
    return lambda path: np.savez_compressed(path, **arrays)


def _write_mat(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    from scipy.io import savemat

    arrays = _reduced_arrays(table, chosen)
    arrays["feature_names"] = np.array(arrays["feature_names"], dtype=object)
    arrays["Y"] = np.atleast_2d(arrays.pop("y").T).T
    return lambda path: savemat(path, arrays, do_compression=True)


def _reduced_arrays(table: Table, chosen: set[str]) -> dict[str, Any]:
    loaded = load(table.path)
    columns = [j for j, name in enumerate(loaded.names) if name in chosen]
    part = loaded.matrix[:, columns]
    labels = list(loaded.labels.values())
    return {
        "X": part.toarray() if sp.issparse(part) else part,
        "y": labels[0] if len(labels) == 1 else np.column_stack(labels),
        "feature_names": np.array([loaded.names[j] for j in columns], dtype=str),
    }


def _write_h5ad(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    data = require_anndata().read_h5ad(table.path)
    columns = [j for j, name in enumerate(load(table.path).names) if name in chosen]
    return data[:, columns].copy().write_h5ad


_WRITERS: dict[str, Callable[[Table, set[str]], Callable[[Path], Any]]] = {
    "csv": _write_text_table,
    "tsv": _write_text_table,
    "parquet": _write_frame,
    "arrow": _write_frame,
    "npz": _write_npz,
    "mat": _write_mat,
    "h5ad": _write_h5ad,
}
