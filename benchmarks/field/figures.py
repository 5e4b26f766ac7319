"""The figures of docs/field.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.field.accuracy import Compared
from benchmarks.field.cases import (
    ASSUMED,
    FILTERS,
    GROWTH,
    GROWTH_STEPS,
    PLAIN,
    PROVERS,
    SUBSET_SETS,
    SUBSET_SIZES,
    SUBSETS,
    TOPK,
)
from benchmarks.field.results import Results
from reproduction.figures import new_canvas, save
from reproduction.point_labels import Label, label_points

# Ours dark, others in colours that are told apart without red and green.
COLORS = {TOPK: "#000000", PLAIN: "#777777", "CD-LSR": "#56b4e9", "fastcan": "#e69f00"}
COLORS |= {"fastcan, beam 10": "#d55e00", "abess": "#0072b2"}
COLORS |= {"OKRidge": "#e69f00", "l0bnb": "#0072b2", ASSUMED: "#56b4e9", "El0ps": "#cc79a7"}
COLORS |= {"SCIP": "#009e73", "HiGHS": "#d55e00"}


def draw_all(results: Results, compared: Sequence[Compared], folder: Path) -> None:
    """Write every figure as field-<name>.png."""
    figures = {
        "objective": draw_objective(results),
        "proofs": draw_proofs(results),
        "filters": draw_filters(results),
        "accuracy": draw_accuracy(compared),
        "growth": draw_growth(results),
    }
    for name, figure in figures.items():
        save(figure, folder / f"field-{name}.png")


def _figure(rows: int, columns: int, width: float, height: float, **options: Any) -> Any:
    figure = new_canvas(width, height)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def draw_objective(results: Results) -> Any:
    """Above: how far above the lowest objective, in per cent of all. Below: seconds."""
    figure, axes = _figure(2, len(SUBSET_SETS), 11, 5.5, sharex=True, sharey="row")
    for column, name in enumerate(SUBSET_SETS):
        shares = {k: results.excess("objective", (name, k, 0.0), SUBSETS) for k in SUBSET_SIZES}
        for method in SUBSETS:
            sizes = [k for k in SUBSET_SIZES if method in shares[k]]
            style = {"color": COLORS[method], "marker": "o", "markersize": 4, "label": method}
            axes[0, column].plot(sizes, [100 * shares[k][method] for k in sizes], **style)
            took = [results.done("objective", (name, k, 0.0), method) for k in sizes]
            axes[1, column].plot(sizes, took, **style)
        axes[0, column].set_title(name)
        axes[0, column].set_yscale("symlog", linthresh=0.1)
        axes[1, column].set_yscale("log")
        axes[1, column].set_xscale("log")
        axes[1, column].set_xticks(SUBSET_SIZES, [str(k) for k in SUBSET_SIZES])
        axes[1, column].minorticks_off()
        axes[1, column].set_xlabel("features")
    axes[0, 0].set_ylabel("above the lowest, % of all")
    axes[1, 0].set_ylabel("processor seconds")
    figure.legend(
        *axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False
    )
    return figure


def draw_proofs(results: Results) -> Any:
    """How many settings each has proven after so many seconds."""
    figure, [[ax]] = _figure(1, 1, 8, 4)
    limit = float(results.environment["parameter"])
    settings = results.settings("proofs")
    for method in PROVERS:
        took = sorted(results.proven(method).values())
        steps = [1e-3, *took, limit]
        counts = [0, *range(1, len(took) + 1), len(took)]
        style = "--" if method == ASSUMED else "-"
        label = f"{method} ({len(took)})"
        ax.step(steps, counts, style, where="post", color=COLORS[method], label=label, linewidth=2)
    ax.set_xscale("log")
    ax.set_xlim(1e-2, limit)
    ax.set_ylim(0, max(len(settings), 1))
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("processor seconds")
    ax.set_ylabel(f"proven, of {len(settings)} settings")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def draw_filters(results: Results) -> Any:
    """Seconds of a peer over ours."""
    labels, ratios = [], []
    for name, k, which in results.settings("filters"):
        kind = list(FILTERS)[int(which)]
        ours = results.done("filters", (name, k, which), FILTERS[kind][0])
        for peer in FILTERS[kind][1:]:
            took = results.done("filters", (name, k, which), peer)
            if took and ours:
                labels.append(f"{kind}, {name}: {peer}")
                ratios.append(took / ours)
    figure, [[ax]] = _figure(1, 1, 8, 0.6 + 0.3 * max(len(labels), 1))
    places = np.arange(len(labels))
    ax.barh(places, np.array(ratios) - 1, left=1, color="#0072b2")
    ax.set_xscale("log")
    ax.axvline(1, color="black", linewidth=1)
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set_xlabel("their seconds / ours (to the left of 1: the peer is faster)")
    return figure


def draw_accuracy(compared: Sequence[Compared]) -> Any:
    """Points of accuracy against TopK, and seconds over its seconds."""
    figure, [[ax]] = _figure(1, 1, 8, 4.5)
    colors = ["#0072b2" if one.peer else "black" for one in compared]
    for one, color in zip(compared, colors, strict=True):
        ax.plot(one.times, one.points, "o", color=color)
    ax.set_xscale("log")
    ax.margins(x=0.35, y=0.1)
    ax.set_xlabel("seconds / those of TopK with one start (median over the sets)")
    ax.set_ylabel("points of accuracy, TopK with one start = 0")
    labels = [
        Label(f"{one.name} ({one.sets})", color=color)
        for one, color in zip(compared, colors, strict=True)
    ]
    label_points(figure, ax, [(one.times, one.points) for one in compared], labels)
    return figure


def draw_growth(results: Results) -> Any:
    """Seconds against n, d and k."""
    figure, axes = _figure(1, len(GROWTH_STEPS), 10, 3.6, sharey=True)
    for ax, (grows, steps) in zip(axes[0], GROWTH_STEPS.items(), strict=True):
        place = "ndk".index(grows)
        for method in GROWTH:
            took = [
                results.done("growth", (f"growing n={n} d={d}", k, 0.0), method)
                for n, d, k in steps
            ]
            known = [(step[place], t) for step, t in zip(steps, took, strict=True) if t]
            if known:
                ax.plot(*zip(*known, strict=True), "o-", color=COLORS[method], label=method)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks([step[place] for step in steps], [str(step[place]) for step in steps])
        ax.minorticks_off()
        others = [f"{n} = {steps[0][i]}" for i, n in enumerate("ndk") if n != grows]
        ax.set_title(", ".join(others), fontsize=9)
        ax.set_xlabel(grows)
    axes[0, 0].set_ylabel("processor seconds")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    return figure
