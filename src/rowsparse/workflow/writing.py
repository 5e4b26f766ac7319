"""Files with the results: features, comparison, path, predictions as CSV or Excel, and JSON."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from rowsparse._files import write_whole
from rowsparse.evaluation import Record
from rowsparse.workflow.cells import looks_numeric
from rowsparse.workflow.excel import write_excel
from rowsparse.workflow.model import MODEL_FILE, SavedModel
from rowsparse.workflow.new_table import NewTable
from rowsparse.workflow.results import (
    ComparisonResult,
    HoldoutScore,
    PathResult,
    SelectionResult,
)

__all__ = [
    "applied_text",
    "write_comparison",
    "write_path",
    "write_predictions",
    "write_selection",
    "write_text",
]


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

    The model is for :class:`rowsparse.workflow.model.SavedModel`.
    """
    header = ["rank", "feature", "column", "score", "selected_in"]
    header += ["selected_in_low", "selected_in_high", "speaks_for", "forced"]
    tests = result.tests
    header += ["p_value", "fdr", "effect", "effect_is", "effect_in"] if tests else []
    width = max((len(feature.coefficients) for feature in result.features), default=0)
    names = result.data.classes if len(result.data.classes) == width else result.data.targets
    has_names = len(names) == width
    header += [f"coefficient of {name}" for name in names] if has_names else []
    rows = []
    for feature in result.features:
        low, high = feature.frequency_interval or (None, None)
        row = [feature.rank, feature.name, feature.index, feature.score, feature.frequency]
        row += [low, high, feature.speaks_for, "yes" if feature.is_forced else "no"]
        if tests:
            row += [feature.p_value, feature.fdr, feature.effect]
            row += [tests.effect_name, feature.effect_in]
        rows.append([*row, *feature.coefficients] if has_names else row)
    proof = result.certificate
    record = {
        "method": result.method,
        "reference": result.method_reference,
        "k": result.k,
        "n_columns": len(result.features),
        "k_was_chosen": result.k_was_chosen,
        "features": [asdict(feature) for feature in result.features],
        "covariates": [asdict(feature) for feature in result.covariates],
        "covariate_score": result.covariate_score,
        "objective": result.objective,
        "lower_bound": proof and proof.lower_bound,
        "gap": proof and proof.gap,
        "status": proof and proof.status,
        "nodes": proof and proof.n_nodes,
        "converged": result.converged,
        "metric": result.metric,
        "score": result.score,
        "score_sd": result.score_sd,
        "baseline_score": result.baseline_score,
        "chance_score": result.chance_score,
        "verdict": result.verdict and asdict(result.verdict),
        "n_forced": result.n_forced,
        "stability": result.stability,
        "holdout": result.holdout and asdict(result.holdout),
        "curve": result.curve and asdict(result.curve),
        "confusion": result.confusion and asdict(result.confusion),
        "class_scores": [asdict(one) for one in result.class_scores],
        "tests": tests
        and {
            "test": tests.test,
            "effect_is": tests.effect_name,
            "n_features": tests.p.size,
            "n_with_fdr_of_5_percent": tests.count(),
        },
        "alternatives": {
            feature.name: [asdict(other) for other in others]
            for feature, others in zip(result.features, result.alternatives, strict=True)
        },
    }
    written = [_table(out / f"features.{kind}", header, rows), _json(out, result, record)]
    if result.model is not None:
        written.append(out / MODEL_FILE)
        write_text(written[-1], result.model.to_json())
    return written


def write_predictions(out: Path, model: SavedModel, table: NewTable, kind: str = "csv") -> Path:
    """Write predictions.csv: the identifiers of the rows, and a column for each target."""
    predicted = np.atleast_2d(model.predict(table).T).T
    identifiers = model.identifiers_in(table)
    columns = table.as_written(identifiers)
    header = [*identifiers, *(f"predicted {name}" for name in model.targets)]
    rows = zip(*columns, *predicted.T.tolist(), strict=True)
    return _table(out / f"predictions.{kind}", header, rows)


def applied_text(
    model: SavedModel, table: NewTable, path: Path, holdout: HoldoutScore | None
) -> str:
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
        "holdout": holdout and asdict(holdout),
    }
    return _json_text(record)


def write_comparison(out: Path, result: ComparisonResult, kind: str = "csv") -> list[Path]:
    """Write comparison.csv, with a row for each method, k, judge and fold, and result.json."""
    curve = result.curve
    rows = [record.flat() | {"support": _named(result.names, record)} for record in curve.records]
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = ([row.get(key) for key in header] for row in rows)
    means = {what: curve.mean(what) for what in (*curve.metrics, "redundancy", "seconds")}
    record = {
        "judge": curve.estimators[0],
        "baseline_score": result.baseline_score,
        "chance_score": result.chance_score,
        "verdict": result.verdict and asdict(result.verdict),
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
    return [_table(out / f"comparison.{kind}", header, cells), _json(out, result, record)]


def _named(names: tuple[str, ...], record: Record) -> str:
    """The selected features as a list of names."""
    return json.dumps([names[j] for j in record.support], ensure_ascii=False)


def write_path(out: Path, result: PathResult, kind: str = "csv") -> list[Path]:
    """Write path.csv, with a row for each k, and result.json."""
    curve = result.curve
    named = [[result.names[j] for j in support.tolist()] for support in result.supports]
    texts = [json.dumps(names, ensure_ascii=False) for names in named]
    scores = curve.by_k()
    rows = [
        (k, objective, *scores.get(k, (None, None)), text)
        for k, objective, text in zip(result.ks, result.objectives, texts, strict=True)
    ]
    header = ["k", "objective", curve.metric, f"{curve.metric}_sd", "features"]
    record = {
        "curve": asdict(curve),
        "verdict": result.verdict and asdict(result.verdict),
        "objectives": result.objectives,
        "supports": named,
    }
    return [_table(out / f"path.{kind}", header, rows), _json(out, result, record)]


def _table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table as the suffix says: .csv or .xlsx."""
    if path.suffix == ".xlsx":
        write_whole(path, lambda temporary: write_excel(temporary, header, rows))
        return path
    buffer = StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    write_text(path, buffer.getvalue())
    return path


def _cell(value: Any) -> Any:
    """A value as a cell; spreadsheets take text that begins like a formula for one."""
    if isinstance(value, str) and value.startswith(_FORMULA) and not looks_numeric(value):
        return f"'{value}"
    return "" if _is_nan(value) else value


def _json(
    out: Path, result: SelectionResult | ComparisonResult | PathResult, findings: dict[str, Any]
) -> Path:
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
