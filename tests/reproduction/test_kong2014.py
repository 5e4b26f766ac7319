"""What the page of Kong and Ding (2014) computes."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction import kong2014
from reproduction.declare import Size
from reproduction.kong2014_runs import (
    CONVEX,
    PS,
    SCALINGS,
    STARTS,
    figure_tasks,
    label_tasks,
    logarithms,
    residue_of,
    scaled,
    settings_tasks,
    table_tasks,
)
from reproduction.pages import write_page
from rowsparse.evaluation import residue


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(2.0, 3.0, (30, 8))
    X[:, 5] = 4.0
    return X, rng.integers(0, 3, 30)


def onehot(y):
    return (y[:, None] == np.unique(y)).astype(float)


def test_scalings_do_what_they_say(data):
    X, _ = data
    live = np.arange(8) != 5
    standard = scaled(X, "standardised")
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0)[live], 1.0)
    np.testing.assert_allclose(scaled(X, "unit sd").std(axis=0)[live], 1.0)
    np.testing.assert_allclose(scaled(X, "centred"), X - X.mean(axis=0))
    np.testing.assert_allclose(np.linalg.norm(scaled(X, "unit length"), axis=0), 1.0)
    ranged = scaled(X, "zero to one")[:, live]
    assert (ranged.min(), ranged.max()) == (0.0, 1.0)
    np.testing.assert_allclose(scaled(X, "samples standardised").std(axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(scaled(X, "samples of unit length"), axis=1), 1.0)
    assert scaled(X, "as distributed") is X
    assert all(np.isfinite(scaled(X, how)).all() for how in SCALINGS)
    with pytest.raises(ValueError, match="There is no scaling 'ranks'"):
        scaled(X, "ranks")


def test_logarithms_cut_intensities():
    assert logarithms(np.array([-5.0, 128.0, 1e6])).tolist() == pytest.approx(
        [np.log2(100), 7.0, np.log2(16000)]
    )


def test_on_standardised_columns_the_residue_is_that_of_the_evaluation(data):
    X, y = data
    support = np.array([0, 3, 6])
    Z = scaled(X, "standardised")
    for fit_intercept in (False, True):
        expected = residue(X, y, support, fit_intercept=fit_intercept)
        assert residue_of(Z, onehot(y), support, fit_intercept) == pytest.approx(expected)


def test_with_an_intercept_labels_of_plus_and_minus_one_double_the_residue(data):
    X, y = data
    Y, support = onehot(y), np.array([1, 2])
    assert residue_of(X, 2 * Y - 1, support, True) == pytest.approx(
        2 * residue_of(X, Y, support, True)
    )


def test_the_printed_residues_of_lung_are_out_of_reach_of_centred_columns(benchmark_data):
    _, y = benchmark_data("lung")
    floor = np.sqrt(y.size) * np.linalg.norm(onehot(y).mean(axis=0))
    assert floor == pytest.approx(10.05, abs=0.005)
    assert floor > max(max(values) for values in kong2014.TABLE["lung"].values())


def made_rows(factors, **other):
    """Rows of one setting whose residues are the printed ones times a factor a data set."""
    setting = {"scaling": "unit sd", "labels": "one-hot", "intercept": False, **other}
    return [
        {
            "dataset": dataset,
            "method": method,
            "logarithms": False,
            "refitted": factor * printed,
            "penalised": 0.5 * printed,
            **setting,
        }
        for dataset, factor in factors.items()
        for method, printed in zip(CONVEX, kong2014.TABLE[dataset]["convex"], strict=True)
    ]


def test_settings_are_compared_with_the_printed_convex_residues(tmp_path):
    rows = made_rows({"allaml": 1.01, "glioma": 0.97, "lung": 1.0, "carcinom": 1.3})
    found = kong2014.setting_deviations(rows)
    near = found["refitted", "unit sd", "one-hot", False]
    assert near["allaml"] == pytest.approx(dict.fromkeys(CONVEX, 0.01))
    assert found["penalised", "unit sd", "one-hot", False]["lung"]["mtfs"] == pytest.approx(-0.5)
    text = write_page(kong2014.PAPER, {"settings": rows}, tmp_path).read_text()
    assert "(ALLAML, GLIOMA, LUNG, CAR): 0 of 1." in text
    assert "**unit sd, labels 0/1, no intercept, refitted**, with ALLAML, GLIOMA, LUNG." in text
    assert "fit CAR: none; the nearest is unit sd, labels 0/1, no intercept, refitted, 30 %" in text
    assert "fit at most none (unit sd, labels 0/1, no intercept, penalised)." in text


def test_a_failed_task_counts_against_a_setting():
    rows = made_rows(dict.fromkeys(("allaml", "glioma"), 1.0))
    rows[-1] = {"dataset": "glioma", "method": "mtfs", "error": "TimeoutError"}
    assert kong2014.settings_context(rows)["first_near"] == ["ALLAML"]


def test_both_starts_and_both_scalings_are_run():
    tasks = table_tasks(Size(datasets=("glioma",)))
    cells = [
        (t.options["scaling"], t.method, t.options["params"].get("p"), t.options["params"]["init"])
        for t in tasks
        if t.method.startswith("lpinf")
    ]
    assert len(cells) == len(set(cells)) == 2 * 2 * 9
    assert len(settings_tasks(Size(datasets=("carcinom",)))) == 2 * len(SCALINGS) * len(CONVEX)


def test_slow_methods_are_repeated_only_when_asked_to():
    size = Size(repeats=5, datasets=("glioma", "emotions"))
    every = Size(repeats=5, datasets=size.datasets, options={"repeat_all": True})

    def repeats(tasks, method, protocol):
        return sum(t.method == method and t.options["protocol"] == protocol for t in tasks)

    assert repeats(figure_tasks(size), "mtfs", "honest") == 5
    assert repeats(figure_tasks(size), "lpinf p = 0.5", "honest") == 1
    assert repeats(figure_tasks(every), "lpinf p = 0.5", "honest") == 5
    assert repeats(label_tasks(size), "mtfs", "honest") == 1
    assert repeats(label_tasks(every), "mtfs", "honest") == 5


def test_claims_are_counted_in_printed_and_in_own_numbers():
    assert kong2014.claims([])[0] == ["printed", "11 of 16", "22 of 32", "31 of 32", "1 of 4"]
    cells = [(p, start, p - 0.1 * (start == "ridge")) for p in (*PS, 1.0) for start in STARTS]
    rows = [
        {"dataset": "glioma", "scaling": "unit sd", "method": "lpinf", "p": p, "start": start}
        | {"refitted": residue}
        for p, start, residue in cells
    ]
    rows.append({"dataset": "glioma", "scaling": "unit sd", "method": "mtfs", "refitted": 0.45})
    lines = {line[0]: line[1:] for line in kong2014.claims(rows)}
    assert lines["corrected, unit sd"] == ["4 of 4", "8 of 8", "5 of 8", "0 of 1"]
    assert lines["published, unit sd"] == ["–"] * 4
    assert "| corrected, unit sd | ridge | 0.0000 |" in kong2014.residue_table(rows, "glioma")
