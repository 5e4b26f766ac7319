"""The report of one selection."""

from __future__ import annotations

import math

import numpy as np

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.report import score_words, search_words, words
from rowsparse.report.cell_charts import Cells, confusion_cells, signed_cells, triangle_cells
from rowsparse.report.charts import style_class
from rowsparse.report.numbers import (
    decimal,
    finite,
    fixed_format,
    metric_name,
    score,
    spread,
)
from rowsparse.report.page import Tile, render
from rowsparse.report.selection_charts import (
    MOST_CHOICES,
    MOST_DRAWN,
    MOST_GROUPS,
    alternatives_words,
    coefficients_of,
    distribution_charts,
    drawn_classes,
    selection_charts,
)
from rowsparse.report.words import repeated
from rowsparse.workflow.results import (
    Confusion,
    RankedFeature,
    SelectionResult,
)

__all__ = ["selection_page"]

# A page with more than these would be too long to read and too large to open.
MOST_ROWS = 500
MOST_CLASSES = 30


def selection_page(result: SelectionResult) -> str:
    """The report of ``rowsparse select`` as one HTML page.

    Parameters
    ----------
    result : SelectionResult
        What was found out.

    Returns
    -------
    str
        The page: style, script and charts are inside, and nothing is fetched.
    """
    drawn = result.features[:MOST_DRAWN]
    correlation = result.correlation[:MOST_DRAWN, :MOST_DRAWN]
    confusion = result.confusion
    charts = {chart.name: chart for chart in selection_charts(result)}
    roc, n_left_out = drawn_classes(result)
    return render(
        "selection.html.j2",
        result=result,
        title=score_words.headline(result),
        summary=_summary(result),
        tiles=_tiles(result),
        most_rows=MOST_ROWS,
        most_drawn=MOST_DRAWN,
        most_groups=MOST_GROUPS,
        ambiguous=repeated(feature.name for feature in result.features),
        written=fixed_format(feature.score for feature in result.features),
        largest_score=max(finite(feature.score for feature in result.features), default=0.0),
        charts=charts,
        correlation=_correlation(correlation, drawn),
        correlation_words=words.correlation_sentence(correlation),
        alternatives_words=" ".join(alternatives_words(result)),
        most_choices=MOST_CHOICES,
        closest=[pair for pair in zip(drawn, result.closest, strict=False) if pair[1]],
        distributions=distribution_charts(result),
        coefficients=_coefficients(result, drawn),
        confusion=_confusion(confusion) if confusion else None,
        mistakes=_mistakes(confusion) if confusion else [],
        observed=[chart for name, chart in charts.items() if name.startswith("observed")],
        legends=[
            [
                (one.name, style_class(at), f"{what} {decimal(getattr(one, field), 3)}")
                for at, one in enumerate(roc)
            ]
            for what, field in (("AUC", "auc"), ("average precision", "average_precision"))
        ],
        n_left_out=n_left_out,
    )


def _summary(result: SelectionResult) -> list[str]:
    held = [score_words.holdout_sentence(result.holdout)] if result.holdout else []
    return [
        words.asked_sentence(result),
        score_words.score_sentence(result),
        *held,
        search_words.certificate_sentence(result.certificate, result.k, result.method),
        *filter(None, [search_words.proven_sentence(result)]),
        *alternatives_words(result),
    ]


def _tiles(result: SelectionResult) -> list[Tile]:
    how = ", as cross-validation chose" if result.k_was_chosen else ""
    picked, what = words.picked_of(result)
    tiles = [Tile("Picked", picked, f"{what}{how}")]
    if math.isfinite(result.score):
        name = metric_name(result.metric)
        around = spread(result.metric, result.score_sd)
        notes = [f"{around} over the folds"] if around else []
        if result.verdict:
            notes.append(score_words.verdict_words(result.verdict).partition(" (")[0])
        tiles.append(
            Tile(
                f"{name[0].upper()}{name[1:]} on unseen samples",
                score(result.metric, result.score),
                "; ".join(notes),
                score_words.tone(result.verdict),
            )
        )
    if result.holdout is not None:
        held = result.holdout
        name = metric_name(held.metric)
        tiles.append(
            Tile(
                f"{name[0].upper()}{name[1:]} on the holdout",
                score(held.metric, held.score),
                counted(held.n_samples, "sample"),
            )
        )
    if result.stability is not None and math.isfinite(result.stability[0]):
        level = result.stability[0]
        tiles.append(Tile("Stability", decimal(level), f"{words.stability_word(level)}; 1 is best"))
    value, note = search_words.certificate_label(result.certificate)
    # Without a colour: the least loss says nothing about other samples.
    tiles.append(Tile("Loss on these samples", value, note))
    return tiles


def _correlation(correlation: Array, drawn: tuple[RankedFeature, ...]) -> Cells | None:
    if len(drawn) < 2:
        return None
    names = [feature.name for feature in drawn]
    return triangle_cells(correlation, names, "Correlations of the selected features")


def _coefficients(result: SelectionResult, drawn: tuple[RankedFeature, ...]) -> Cells | None:
    """Cells of the coefficients of several classes or targets; those of one are a chart."""
    table = coefficients_of(drawn)
    width = table.shape[1]
    if width < 2:
        return None
    names = result.data.outputs
    if len(names) != width:
        names = tuple(f"target {at + 1}" for at in range(width))
    features = [feature.name for feature in drawn]
    label = "Coefficients of the selected features, in the order of the table above"
    return signed_cells(table[:, :MOST_CLASSES], features, names[:MOST_CLASSES], label)


def _confusion(confusion: Confusion) -> Cells | None:
    if len(confusion.classes) > MOST_CLASSES:
        return None
    return confusion_cells(confusion.classes, confusion.counts, "Confusion matrix, cross-validated")


def _mistakes(confusion: Confusion, most: int = 12) -> list[tuple[str, str, int]]:
    """The most frequent mistakes, for classes too many to draw."""
    if len(confusion.classes) <= MOST_CLASSES:
        return []
    wrong = np.array(confusion.counts)
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(at), len(wrong)) for at in order if wrong.flat[at] > 0]
    names = confusion.classes
    return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs]
