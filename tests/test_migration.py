"""Every line of the page on coming from another package: both sides run."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.feature_selection
import sklearn.linear_model
import sklearn.pipeline
import sklearn.preprocessing
import sklearn.svm

import rowsparse

PAGE = (Path(__file__).parents[1] / "docs" / "migration.md").read_text(encoding="utf-8")
SKLEARN = (
    sklearn.feature_selection,
    sklearn.linear_model,
    sklearn.pipeline,
    sklearn.preprocessing,
    sklearn.svm,
)
# What the page says of the release on the package index.
BROKEN = ("lap_score.", "ll_l21.")
SKFEATURE = re.compile(r"(\w+)\.\w+\(.*")


def setup() -> dict[str, Any]:
    """The names that the lines use."""
    block = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    namespace: dict[str, Any] = {}
    for module in SKLEARN:
        namespace |= {name: getattr(module, name) for name in module.__all__}
    exec(block[1], namespace)
    namespace["one_hot"] = np.eye(2)[namespace["y"]]
    # Where groups begin and end, and their weights, as group_fs wants them.
    starts = np.arange(1, 31, 3)
    namespace["spans"] = np.vstack([starts, starts + 2, np.ones(10)]).astype(int)
    return namespace


def lines() -> list[tuple[str, str, str, str]]:
    """(section, today, here, the answer) of every row."""
    found = []
    for section in PAGE.split("\n## ")[1:]:
        title = section.partition("\n")[0]
        for row in re.findall(r"^\| `(.*?)` \|(.*?)\| (.*?) \|$", section, re.MULTILINE):
            found.append((title, row[0], row[1].strip().strip("`"), row[2]))
    return found


ROWS = lines()
HERE = sorted({here for _, _, here, _ in ROWS if here})


def test_every_table_is_read() -> None:
    tables = re.findall(r"^\|(?!---| Today)", PAGE, re.MULTILINE)
    assert len(ROWS) == len(tables)
    assert len({section for section, *_ in ROWS}) == 6


@pytest.mark.filterwarnings("ignore")
def test_what_to_call_here_runs() -> None:
    names = {name: getattr(rowsparse, name) for name in rowsparse.__all__}
    for code in HERE:
        result = eval(code, setup() | names)
        assert isinstance(result, np.ndarray) or result.get_support().any(), code


def skfeature(code: str) -> dict[str, Any]:
    """The module of scikit-feature that a call names."""
    found = SKFEATURE.match(code)
    assert found is not None
    package = pytest.importorskip("skfeature.function")
    folders = [p for path in package.__path__ for p in Path(path).iterdir() if p.is_dir()]
    home = next(p.name for p in folders if (p / f"{found[1]}.py").exists())
    return {found[1]: import_module(f"skfeature.function.{home}.{found[1]}")}


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("section", "code"), sorted({row[:2] for row in ROWS}))
def test_what_is_called_today_runs(section: str, code: str) -> None:
    names = setup()
    if section == "scikit-feature":
        names |= skfeature(code)
    elif section in ("abess", "mrmr-selection", "skrebate"):
        name = "mrmr" if section == "mrmr-selection" else section
        names[name] = pytest.importorskip(name)
    if code.startswith(BROKEN):
        with pytest.raises(ValueError, match=r"read-only|sequence"):
            eval(code, names)
    else:
        assert eval(code, names) is not None


def equal(today: str, here: str, names: dict[str, Any]) -> None:
    """The same columns, scores and p-values, as far as both have them."""
    theirs, ours = eval(today, names), eval(here, names)
    np.testing.assert_array_equal(theirs.get_support(), ours.get_support())
    for name in ("scores_", "pvalues_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("today", "here"),
    [
        (today, here)
        for title, today, here, answer in ROWS
        if title.startswith("SelectKBest") and answer.startswith("the same columns")
    ],
)
def test_scikit_learn_has_the_same_answer_where_the_page_says_so(today: str, here: str) -> None:
    equal(today, here, setup() | {"FStatistic": rowsparse.FStatistic})


@pytest.mark.peer
def test_scikit_feature_has_the_same_answer_where_the_page_says_so() -> None:
    names = setup()
    X, y = names["X"], names["y"]
    statistical, similarity = (
        "skfeature.function.statistical_based",
        "skfeature.function.similarity_based",
    )
    f_score = pytest.importorskip(f"{statistical}.f_score").f_score
    t_score = pytest.importorskip(f"{statistical}.t_score").t_score
    fisher_score = pytest.importorskip(f"{similarity}.fisher_score").fisher_score
    ranking = rowsparse.FisherScore(10).fit(X, y).order_
    np.testing.assert_array_equal(ranking, fisher_score(X, y, mode="index"))
    np.testing.assert_allclose(
        rowsparse.FStatistic(10).fit(X, y).scores_, f_score(X, y, mode="raw")
    )
    ours = rowsparse.TTest(10, ddof=0, equal_var=False).fit(X, y)
    np.testing.assert_allclose(ours.scores_, t_score(X, y, mode="raw"))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_mrmr_selection_has_the_same_answer_where_the_page_says_so() -> None:
    peer = pytest.importorskip("mrmr")
    names = setup()
    theirs = peer.mrmr_classif(names["frame"], names["series"], K=10, show_progress=False, n_jobs=1)
    ours = rowsparse.MRMR(10, criterion="fcq").fit(names["frame"], names["series"])
    assert list(names["frame"].columns[ours.order_[:10]]) == theirs
