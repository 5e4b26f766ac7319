"""Files of a run: results as CSV, Excel and JSON, the reduced table, proofs, and their folder."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, is_dataclass, replace
from io import StringIO
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._files import UnwritableFileError, write_whole
from rowsparse.certificate import OtherDataError, Proof, Verification, verify
from rowsparse.evaluation import Record
from rowsparse.workflow.loading import Loaded, check_is_file, format_of, load
from rowsparse.workflow.messages import InputError, quoted, required, setting, shown
from rowsparse.workflow.model import MODEL_FILE, SavedModel
from rowsparse.workflow.results import (
    Alternatives,
    ComparisonResult,
    HoldoutScore,
    ListedFeature,
    PathResult,
    RankedFeature,
    Result,
    SelectionResult,
    SurvivalScore,
)
from rowsparse.workflow.settings import ReadingSettings, TableSettings
from rowsparse.workflow.table import Table, read_table
from rowsparse.workflow.text_files import looks_numeric, sniff

# What a formula of a spreadsheet may begin with.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""

    def write(temporary: Path) -> None:
        # Names may hold lone surrogates, which UTF-8 cannot encode.
        temporary.write_bytes(text.encode("utf-8", errors="backslashreplace"))

    write_whole(path, write)


def write_selection(out: Path, result: SelectionResult, kind: str = "csv") -> list[Path]:
    """Write features.csv, with a row for each feature, result.json, and the model if there is one.

    The model is for :class:`rowsparse.workflow.model.SavedModel`. With a list of choices,
    alternatives.csv has a row for each feature of some choice.
    """
    near = result.alternatives
    features = [_feature_row(result, feature) for feature in result.features]
    written = [_table(out / f"features.{kind}", features), _json(out, result, _record(result))]
    if near:
        choices = [
            {
                "feature": one.name,
                **_listed(one),
                "cost_with": one.cost_with,
                "cost_with_is": _is(one.cost_with_exact),
                "copies": json.dumps(one.copies, ensure_ascii=False),
                "forced": "yes" if one.is_forced else "no",
            }
            for one in near.features
        ]
        written.append(_table(out / f"alternatives.{kind}", choices))
    if result.model is not None:
        written.append(out / MODEL_FILE)
        write_text(written[-1], result.model.to_json())
    return written


def _feature_row(result: SelectionResult, feature: RankedFeature) -> dict[str, Any]:
    """The row of features.csv of a feature."""
    low, high = feature.frequency_interval or (None, None)
    row = {
        "rank": feature.rank,
        "feature": feature.name,
        "column": feature.index,
        "score": feature.score,
        "selected_in": feature.frequency,
        "selected_in_low": low,
        "selected_in_high": high,
        "speaks_for": feature.speaks_for,
        "forced": "yes" if feature.is_forced else "no",
    }
    if result.tests:
        row |= {
            "p_value": feature.p_value,
            "fdr": feature.fdr,
            "effect": feature.effect,
            "effect_is": result.tests.effect_name,
            "effect_in": feature.effect_in,
        }
    if result.alternatives:
        row |= _listed(result.alternatives.of(feature.index))
    names = [f"coefficient of {name}" for name in result.data.outputs]
    has_names = len(names) == max(len(one.coefficients) for one in result.features)
    return row | (dict(zip(names, feature.coefficients, strict=True)) if has_names else {})


def _listed(one: ListedFeature | None) -> dict[str, Any]:
    """What a list of choices says of a feature, if it is in one of them."""
    return {
        "in_choices": one and one.verdict,
        "share_of_choices": one and one.share,
        "cost_without": one and one.cost_without,
        "cost_without_is": one and _is(one.cost_without_exact),
    }


def _record(result: SelectionResult) -> dict[str, Any]:
    """What result.json says of a selection: all but what only the report shows."""
    proof, tests, near = result.certificate, result.tests, result.alternatives
    return {name: getattr(result, name) for name in _AS_THEY_ARE} | {
        "reference": result.method_reference,
        "n_columns": len(result.features),
        "lower_bound": proof and proof.lower_bound,
        "gap": proof and proof.gap,
        "status": proof and proof.status,
        "nodes": proof and proof.n_nodes,
        "survival": result.survival and _survival(result.survival),
        "tests": tests
        and {
            "test": tests.test,
            "effect_is": tests.effect_name,
            "adjusted_for": tests.covariates,
            "unit": tests.unit,
            "n_groups": tests.n_groups,
            "n_features": tests.n_tested,
            "n_with_fdr_of_5_percent": tests.count(),
        },
        "alternatives": near and _list_record(near),
        "closest_left_out": {
            feature.name: others
            for feature, others in zip(result.features, result.closest, strict=True)
        },
    }


# Fields of a result that are keys of result.json.
_AS_THEY_ARE = (
    *("method", "k", "k_was_chosen", "n_forced", "features", "covariates", "objective"),
    *("converged", "metric", "score", "score_sd", "baseline_score", "chance_score"),
    *("covariate_score", "verdict", "stability", "holdout", "curve", "confusion"),
    *("class_scores", "number_scores"),
)


def _is(exact: bool) -> str:
    return "exact" if exact else "at least"


def _list_record(near: Alternatives) -> dict[str, Any]:
    """The list of choices, each by the names of its features."""
    names = [one.name for one in near.features]
    record = asdict(near)
    record["indispensable"] = [one.name for one in near.indispensable]
    record["choices"] = [[names[j] for j in choice] for choice in near.choices]
    return record


def _survival(found: SurvivalScore) -> dict[str, Any]:
    """The halves of the held-out samples, the one with the higher risk first."""
    return {
        "log_rank_p": found.p_value,
        "halves": [
            {
                "n_samples": int(curve.at_risk[0]),
                "n_events": curve.n_events,
                "median": curve.median,
                "times": curve.times,
                "survival": curve.survival,
                "at_risk": curve.at_risk,
            }
            for curve in found.halves
        ],
    }


def write_predictions(out: Path, model: SavedModel, table: Loaded, kind: str = "csv") -> Path:
    """Write predictions.csv with a row for each row of the table.

    It has the identifiers, or the number of the row; the targets, if the table has them; a
    prediction of each; and of classes and labels probabilities or decision values, of two classes
    the decision value of the second.
    """
    said = model.predictions(table)
    keys = model.identifiers_in(table)
    known = [name for name in model.targets if name in set(table.target_names)]
    columns: dict[str, Any] = {} if keys else {"row": range(1, table.n_rows + 1)}
    columns |= zip([*keys, *known], table.as_written([*keys, *known]), strict=True)
    answers = np.atleast_2d(np.asarray(said.answers).T)
    for name, values in zip(model.outputs, answers, strict=True):
        columns[f"predicted {name}"] = values.tolist()
    if said.values is not None:
        what = "probability" if said.are_probabilities else "decision value"
        names = model.targets if said.classes is None else said.classes.tolist()
        for at, (name, values) in enumerate(zip(names, said.values.T, strict=True)):
            if said.are_probabilities or len(names) != 2 or at or said.classes is None:
                columns[f"{what} of {name}"] = values.tolist()
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return _table(out / f"predictions.{kind}", rows)


def applied_text(model: SavedModel, table: Loaded, path: Path, holdout: HoldoutScore | None) -> str:
    """What a model made of another table, as JSON; with the predictions, if they were asked for."""
    is_prediction = path.stem == "predictions"
    record = {
        "source": table.source,
        "n_rows": table.n_rows,
        "method": model.method,
        "columns": [column.name for column in model.columns],
        "not_used": model.check_columns(table),
        "file": path,
        "targets": model.targets,
        "predictions": model.predict(table) if is_prediction else None,
        "holdout": holdout,
    }
    return _json_text(record)


def write_comparison(out: Path, result: ComparisonResult, kind: str = "csv") -> list[Path]:
    """Write comparison.csv, with a row for each method, k, judge and fold, and result.json."""
    curve = result.curve
    rows = [record.flat() | {"support": _named(result.names, record)} for record in curve.records]
    means = {what: curve.mean(what) for what in (*curve.metrics, "redundancy", "seconds")}
    record = {
        "judge": curve.estimators[0],
        "baseline_score": result.baseline_score,
        "chance_score": result.chance_score,
        "verdict": result.verdict,
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
    }
    return [_table(out / f"comparison.{kind}", rows), _json(out, result, record)]


def _named(names: tuple[str, ...], record: Record) -> str:
    """The selected features as a list of names."""
    return json.dumps([names[j] for j in record.support], ensure_ascii=False)


def write_path(out: Path, result: PathResult, kind: str = "csv") -> list[Path]:
    """Write path.csv, with a row for each k, and result.json."""
    curve = result.curve
    named = [[result.names[j] for j in support.tolist()] for support in result.supports]
    scores, rows = curve.by_k(), []
    for k, objective, names in zip(result.ks, result.objectives, named, strict=True):
        score, sd = scores.get(k, (None, None))
        row = {"k": k, "objective": objective, curve.metric: score, f"{curve.metric}_sd": sd}
        rows.append(row | {"features": json.dumps(names, ensure_ascii=False)})
    record = {
        "curve": curve,
        "verdict": result.verdict,
        "objectives": result.objectives,
        "supports": named,
    }
    return [_table(out / f"path.{kind}", rows), _json(out, result, record)]


def _table(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows by the names of their columns, as the suffix says: .csv or .xlsx."""
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(key) for key in header] for row in rows]
    if path.suffix == ".xlsx":
        write_whole(path, lambda temporary: write_excel(temporary, header, cells))
        return path
    buffer = StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in cells)
    write_text(path, buffer.getvalue())
    return path


def _cell(value: Any) -> Any:
    """A value as a cell; spreadsheets take text that begins like a formula for one."""
    if isinstance(value, str) and value.startswith(_FORMULA) and not looks_numeric(value):
        return f"'{value}"
    return "" if _is_nan(value) else value


def _json(out: Path, result: Result, findings: dict[str, Any]) -> Path:
    """Write result.json: the findings, and all it takes to repeat the run."""
    settings = dict(result.settings)
    record = {
        "command": settings.pop("command", None),
        "date": settings.pop("date", None),
        "settings": settings,
        "versions": result.versions,
        "data": asdict(result.data),
        **findings,
        "seconds": result.seconds,
        "warnings": result.warnings,
    }
    path = out / "result.json"
    write_text(path, _json_text(record))
    return path


def _json_text(record: dict[str, Any]) -> str:
    return json.dumps(_plain(record), indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """The value in types that JSON has; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
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


# -------------------------------------------------------------------------------- the reduced table
def write_reduced(
    out: Path, table: Table, result: SelectionResult, kind: str | None = None
) -> Path:
    """Write the targets, the identifiers and the selected columns as they are in the input."""
    chosen = {table.origin(feature.index) for feature in (*result.features, *result.covariates)}
    wanted = {*chosen, *table.target.names, *table.identifiers}
    return write_columns(out, table.path, wanted, table.reading, kind)


def write_columns(
    out: Path,
    table: Path,
    wanted: set[str],
    reading: ReadingSettings | None = None,
    form: str | None = None,
) -> Path:
    """Write some columns of a file as they are there, to a file "reduced" in the folder.

    Names that the table does not have are ignored; columns beside a matrix X, which may be targets,
    are kept in any case. A table that is transposed, or joined with labels, gets a row for each
    sample. A table of columns is written as ``form`` says, "csv" or "xlsx"; by default, and arrays
    always, in their own format.
    """
    kind = format_of(table)
    if kind in ("npz", "mat", "h5ad"):
        suffix, write = table.suffix, _array_writer(kind, table, wanted)
    else:
        suffix, write = _frame_writer(kind, table, wanted, reading or ReadingSettings(), form)
    path = out / f"reduced{suffix}"
    write_whole(path, write)
    return path


def _frame_writer(
    kind: str, table: Path, wanted: set[str], reading: ReadingSettings, form: str | None
) -> tuple[str, Callable[[Path], Any]]:
    """The suffix of the file, and what writes it."""
    as_it_is = form is None and kind in ("csv", "tsv")
    if form is None and kind == "parquet" and not (reading.transpose or reading.labels):
        # Types such as categories are kept by polars itself only.
        frame = required("polars").read_parquet(table)
    else:
        frame = load(table, reading, as_text=as_it_is).frame
    part = frame.select([name for name in frame.columns if name in wanted])
    form = form or ("xlsx" if kind == "excel" else kind)
    if form == "xlsx":
        return ".xlsx", lambda path: write_excel(path, part.columns, part.iter_rows())
    if form in ("parquet", "arrow"):
        return table.suffix, part.write_parquet if form == "parquet" else part.write_ipc
    separator = sniff(table, header_row=reading.header_row).separator if as_it_is else ","
    data, suffix = part.write_csv(separator=separator).encode(), ".csv"
    if as_it_is:
        suffix = table.suffix
        if suffix.lower() == ".gz":
            data, suffix = gzip.compress(data, mtime=0), "".join(table.suffixes[-2:])
    return suffix, lambda path: path.write_bytes(data)


def _array_writer(kind: str, table: Path, wanted: set[str]) -> Callable[[Path], Any]:
    """What writes the columns of a matrix, and all columns beside it."""
    loaded = load(table)
    columns = [j for j, name in enumerate(loaded.features) if name in wanted]
    if kind == "h5ad":
        return required("anndata").read_h5ad(table)[:, columns].copy().write_h5ad
    part = loaded.matrix[:, columns]
    names = np.array([loaded.features[j] for j in columns], dtype=str)
    X = part.toarray() if sp.issparse(part) else part
    arrays = {"X": X, "feature_names": names}
    labels = list(loaded.labels.values())
    if kind == "npz":
        arrays |= (
            {"y": labels[0] if len(labels) == 1 else np.column_stack(labels)} if labels else {}
        )
        return lambda path: np.savez_compressed(path, **arrays)
    from scipy.io import savemat

    arrays["feature_names"] = names.astype(object)
    arrays |= {"Y": np.column_stack(labels)} if labels else {}
    return lambda path: savemat(path, arrays, do_compression=True)


# -------------------------------------------------------------------------------------------- Excel
# What a sheet of Excel, and a cell, can hold.
_MOST_ROWS, _MOST_COLUMNS, _LONGEST_TEXT = 1_048_576, 16_384, 32_767


def write_excel(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a workbook of one sheet; text stays text, also if it looks like a formula or a number.

    Cells are numbers, text or booleans; None and NaN are empty.
    """
    xlsxwriter = required("xlsxwriter")
    cells = [list(header), *map(list, rows)]
    if len(cells) > _MOST_ROWS or len(header) > _MOST_COLUMNS:
        raise InputError(
            f"A sheet of Excel holds {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns, fewer than "
            f"the {len(cells):,} and {len(header):,} of {shown(path.name)}."
        )
    with xlsxwriter.Workbook(str(path)) as workbook:
        sheet = workbook.add_worksheet()
        sheet.freeze_panes(1, 0)
        for i, row in enumerate(cells):
            for j, value in enumerate(row):
                _write_cell(sheet, i, j, value)


def _write_cell(sheet: Any, i: int, j: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(i, j, value)
    elif isinstance(value, int | float):
        if math.isfinite(value):
            sheet.write_number(i, j, value)
    else:
        # Names may hold lone surrogates, which UTF-8 cannot encode.
        text = str(value).encode("utf-8", errors="backslashreplace").decode()
        sheet.write_string(i, j, text[:_LONGEST_TEXT])


# ------------------------------------------------------------------------------------------- proofs
# Relative difference from what the file claims that rounding explains.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class CheckedProof:
    """A proof, as it was read, after its check against a table.

    ``features`` are the names of the columns chosen, and ``checked`` is what the proof proves of
    the table: None if it is about another one, and then ``difference`` says how that table differs.
    """

    proof: Proof
    features: tuple[str, ...]
    checked: Verification | None
    difference: str = ""

    @property
    def holds(self) -> bool:
        """Whether all that the file claims is proven for this table."""
        if self.checked is None:
            return False
        enough = self.checked.bound >= self.proof.lower_bound * (1.0 - _ROUNDING)
        # An objective below that of the file is a claim that nothing supports.
        claim = self.proof.objective * (1.0 + _ROUNDING)
        return enough and self.checked.objective <= claim


def write_proof(path: Path, proof: Proof, table: Table, settings: TableSettings) -> Path:
    """Write a proof, with the names of the columns and how the table was read."""
    about: dict[str, object] = {"table": table.path.name, "columns": list(table.names)}
    about |= {"reading": asdict(settings)}
    return replace(proof, about=about).save(path)


def check_proof(path: Path, data: Path, *, exact: bool = False) -> CheckedProof:
    """Check a proof that :func:`write_proof` wrote against a table, perhaps in exact arithmetic.

    The table is read as it was read for the selection.
    """
    check_is_file(path)
    proof = Proof.load(path)
    if not {"columns", "reading"} <= proof.about.keys():
        raise InputError(
            f"{path.name} does not say how its table was read: check it in Python with "
            "rowsparse.certificate.verify."
        )
    try:
        settings = TableSettings.taken(dict(proof.about["reading"]))
        known = [str(name) for name in proof.about["columns"]]
    except TypeError:
        raise InputError(f"{path.name} is damaged: it does not say how to read a table.") from None
    table = read_table(data, settings)
    if list(table.names) != known:
        other = sorted(set(known) ^ set(table.names))
        which = f": they differ in {quoted(other[:3])}" if other else ", or in another order"
        raise InputError(f"{data.name} has other columns than the proof is about{which}.")
    support = proof.support.tolist()
    names = tuple(known[j] for j in support if 0 <= j < len(known))
    try:
        return CheckedProof(proof, names, verify(table.X, table.y, proof, exact=exact))
    except OtherDataError as error:
        columns = [known[j] for j in error.columns]
        difference = f"its column {quoted(columns[:3])}" if columns else str(error).split(": ")[1]
        if len(columns) > 1:
            difference = f"its columns {quoted(columns[:3])}" + (" ..." if columns[3:] else "")
        return CheckedProof(proof, names, None, difference.removesuffix("."))


# ------------------------------------------------------------------------------ the folder of a run
# What the commands write; other files in a folder are never touched.
_RESULTS = (
    *(
        f"{name}.{kind}"
        for name in ("alternatives", "comparison", "features", "path", "predictions")
        for kind in ("csv", "xlsx")
    ),
    "figures",
    "model.json",
    "reduced.*",
    "report.html",
    "result.json",
    "settings.toml",
)


def check_writable(out: Path) -> None:
    """Refuse a folder in which no file can be made; nothing is left behind."""
    nearest = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise UnwritableFileError(out, error) from error


def check_folder(out: Path, table: Path, *, force: bool) -> None:
    """Refuse a folder, which need not exist, for the results of a run on a table.

    With ``force`` the results of an earlier run may be overwritten, but never the table.
    """
    earlier = _earlier_results(out)
    if any(path.resolve() == table.resolve() for path in earlier):
        raise InputError(
            f"The results would overwrite the table {shown(str(table))}: choose another folder "
            f"with {setting('out')}."
        )
    foreign = [path for path in (out / "figures").glob("*") if path.suffix != ".svg"]
    if foreign:
        raise InputError(
            f"The folder {shown(str(out / 'figures'))} holds {shown(foreign[0].name)}, which is no "
            f"figure of an earlier run: choose another folder with {setting('out')}."
        )
    if earlier and not force:
        raise InputError(
            f"The folder {shown(str(out))} has the results of an earlier run: choose another with "
            f"{setting('out')}, or overwrite them with {setting('force')}."
        )
    check_writable(out)


@contextmanager
def result_folder(out: Path) -> Iterator[Path]:
    """A hidden folder to write into; its files are moved to ``out`` at the end.

    ``out`` is made if it does not exist. The results of an earlier run in it are replaced, also
    those that this run does not write. On an error nothing is moved, and what was in ``out`` is as
    before; an UnwritableFileError names the file in ``out``.
    """
    made = [folder for folder in out.absolute().parents if not folder.exists()]
    stage = None
    try:
        # Inside of a folder that exists, whose parent may be another file system.
        parent = out if out.is_dir() else out.absolute().parent
        parent.mkdir(parents=True, exist_ok=True)
        hidden = parent / f".{out.absolute().name}-{token_hex(4)}"
        hidden.mkdir()  # unlike mkdtemp, with the permissions that new folders have
        stage = hidden
        yield stage
        _publish(stage, out)
    except BaseException as error:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
        for folder in made:
            with suppress(OSError):  # something else may have been written there
                folder.rmdir()
        if isinstance(error, OSError):
            path = _concerned(error, stage, out)
            if path is not None:
                raise UnwritableFileError(path, error) from error
        raise


def _earlier_results(out: Path) -> list[Path]:
    return [path for pattern in _RESULTS for path in out.glob(pattern)]


def _concerned(error: OSError, stage: Path | None, out: Path) -> Path | None:
    """What could not be written: a file in ``out``, or ``out``; None if it is another file."""
    if stage is None or error.filename is None:
        return out
    path = Path(error.filename)
    return out / path.relative_to(stage) if path.is_relative_to(stage) else None


def _publish(stage: Path, out: Path) -> None:
    """Move all files of the hidden folder; put the earlier ones back if one cannot be moved."""
    if not out.exists():
        stage.rename(out)
        return
    earlier = stage / ".earlier"
    moves = [(path, earlier / path.name) for path in _earlier_results(out)]
    moves += [(path, out / path.name) for path in stage.iterdir()]
    earlier.mkdir()
    with ExitStack() as undo:
        for old, new in moves:
            old.rename(new)
            undo.callback(new.rename, old)
        undo.pop_all()
    shutil.rmtree(stage)
