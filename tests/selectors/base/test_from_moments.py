"""Fits from Moments are those from all samples."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rowsparse import ILFS, RFS, Moments, TopK, get_selector, list_selectors
from rowsparse.selectors.base.selector import FromMoments
from rowsparse.selectors.registry import selector_info

NAMES = [name for name in list_selectors() if issubclass(selector_info(name).cls, FromMoments)]
ATTRIBUTES = ("scores_", "coef_", "intercept_", "objective_", "pvalues_", "classes_")


def made(name: str, **options: Any) -> Any:
    fixed: dict[str, Any] = {"random_state": 0} if selector_info(name).random else {}
    fixed |= {"loss": "squared"} if name == "topk" else {}  # that of Moments
    return get_selector(name, 4, **fixed | options)


def data(task: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 15)) + 20 * rng.random(15)
    X[:, 11] = 2.5
    numbers = X[:, :4] @ rng.standard_normal((4, 2)) + rng.standard_normal((120, 2))
    # Sorted: the classes appear one after another.
    y: Any = np.sort(np.digitize(numbers[:, 0], np.quantile(numbers[:, 0], [0.4, 0.8])))
    X[:, 0] += y
    if task == "multilabel":
        y = (numbers > numbers.mean(axis=0)).astype(int)
    elif task == "regression":
        y = numbers
    return X, y, rng.random(120) + 0.2


def blockwise(selector: Any, X: Any, y: Any, w: Any) -> Any:
    for start in range(0, 120, 35):
        rows = slice(start, start + 35)
        selector.partial_fit(X[rows], y[rows], sample_weight=None if w is None else w[rows])
    return selector


RAW = {"standardize": False}
UNCENTRED = {"fit_intercept": False}


@pytest.mark.parametrize(
    ("name", "options", "unit"),
    [
        *((name, {}, 1.0) for name in NAMES),
        *(("topk", one, 1.0) for one in (RAW, UNCENTRED, RAW | UNCENTRED, {"certify": True})),
        ("topk", RAW, 2.0**200),
    ],
)
@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_give_the_answer_of_all_samples(name, options, unit, task, weighted) -> None:
    if task not in selector_info(name).tasks:
        pytest.skip("other targets")
    X, y, w = data(task)
    X, y = X * unit, y * unit if task == "regression" else y
    weights = w if weighted else None
    whole = made(name, **options).fit(X, y, weights)
    parts = blockwise(made(name, **options), X, y, weights)
    np.testing.assert_array_equal(parts.get_support(), whole.get_support())
    # MTFS and LpInf iterate to a tolerance.
    rtol = 1e-4 if name in ("mtfs", "lpinf") else 1e-7
    for attribute in ATTRIBUTES:
        if hasattr(whole, attribute):
            found, expected = getattr(parts, attribute), getattr(whole, attribute)
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    if "certify" in options:
        assert (parts.status_, whole.status_) == ("optimal", "optimal")
        np.testing.assert_allclose(parts.lower_bound_, whole.lower_bound_, rtol=1e-6)


def test_partial_fit_is_a_fit_and_chooses_when_asked() -> None:
    X, y, _ = data("classification")
    selector = TopK(2, random_state=0)
    with pytest.raises(NotFittedError):
        check_is_fitted(selector)
    assert selector.partial_fit(X[:60], y[:60]) is selector
    check_is_fitted(selector)
    assert "support_" not in vars(selector)
    assert selector.transform(X).shape == (120, 2)
    first = selector.objective_
    selector.partial_fit(X[60:], y[60:])
    assert "support_" not in vars(selector)
    assert selector.objective_ > first
    assert pickle.loads(pickle.dumps(selector)).moments_.n_samples == 120
    assert not hasattr(selector, "pvalues_")
    assert not hasattr(clone(selector), "moments_")
    assert not hasattr(selector.fit(X, y), "moments_")


def test_a_refused_block_leaves_the_selector_as_it_was() -> None:
    X, y, _ = data("classification")
    selector = TopK(2, random_state=0).partial_fit(X, y)
    support = selector.get_support()
    for block, labels, message in (
        (X[:, :3], y, "3 features"),
        (X * np.nan, y, "NaN"),
        (X, y[:5], "5 samples"),
    ):
        with pytest.raises(ValueError, match=message):
            selector.partial_fit(block, labels)
    np.testing.assert_array_equal(selector.get_support(), support)
    assert selector.moments_.n_samples == 120


def test_to_look_at_a_selector_makes_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data("classification")
    selector = TopK(2, random_state=0).partial_fit(X, y)
    choices: list[Any] = []
    with monkeypatch.context() as patched:
        # What a diagram does is counted: scikit-learn's passes over all errors.
        patched.setattr(TopK, "_select", lambda self, source: choices.append(self))
        for page in (selector._repr_html_(), selector._repr_mimebundle_()["text/html"]):
            assert "rowsparse-summary" not in page
        assert "TopK" in repr(selector)
        for name in ("nonsense_", "_private_", "pvalues_", "feature_names_in_"):
            assert not hasattr(selector, name)
        assert not choices
        patched.setattr(TopK, "_select", None)
        # What keeps the choice from being made is told by an error that hasattr takes for "no".
        assert not hasattr(selector, "support_")
        with pytest.raises(NotFittedError, match="not callable") as caught:
            _ = selector.objective_
        assert isinstance(caught.value.__cause__, TypeError)
    assert hasattr(selector, "support_")
    assert "rowsparse-summary" in selector._repr_html_()


@pytest.mark.parametrize("name", NAMES)
def test_classes_named_before_they_come_change_nothing_but_classes(name: str) -> None:
    X, y, _ = data("classification")
    plain = made(name).partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    named = made(name).partial_fit(X[:60], y[:60], classes=[*np.unique(y), 77])
    named.partial_fit(X[60:], y[60:])
    np.testing.assert_allclose(named.scores_, plain.scores_, rtol=1e-9)
    assert named.classes_.tolist() == [*np.unique(y), 77]


def test_names_of_columns_are_those_of_the_blocks() -> None:
    X, y, _ = data("classification")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    selector = TopK(2, random_state=0).partial_fit(frame, y)
    assert len(selector.get_feature_names_out()) == 2
    with pytest.raises(ValueError, match="feature names"):
        selector.partial_fit(frame[frame.columns[::-1]], y)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (TopK(2, loss="logistic"), "loss='squared' only"),
        (TopK(2, clip=2.0), "clip needs the samples"),
        (TopK(2, class_weight="balanced"), "class_weight cannot be applied"),
        (TopK(2, task="regression"), "the Moments are for classification"),
        (TopK(20, feature_groups=[0] * 3), "feature_groups"),
    ],
)
def test_what_moments_cannot_do_is_said(selector: Any, message: str) -> None:
    X, y, _ = data("classification")
    moments = Moments().update(X, y)
    with pytest.raises(ValueError, match=message):
        selector.fit_moments(moments)
    assert not hasattr(selector, "n_features_in_")


def test_other_things_than_moments_and_other_selectors() -> None:
    X, y, _ = data("classification")
    with pytest.raises(TypeError, match=r"rowsparse\.Moments; got ndarray"):
        TopK(2).fit_moments(X)
    with pytest.raises(ValueError, match="come with the Moments"):
        TopK(2).fit(Moments().update(X, y), y)
    with pytest.raises(TypeError, match="X: "):
        ILFS(2).fit(Moments().update(X, y), y)
    with pytest.raises(ValueError, match="Every column of X is constant"):
        TopK(1).fit_moments(Moments().update(np.full((5, 2), 0.1), np.arange(5) / 3))
    with pytest.raises(ValueError, match="products=True"):
        TopK(2).fit_moments(Moments(products=False).update(X, y))
    with pytest.raises(ValueError, match="takes targets for classification"):
        made("ttest").fit_moments(Moments("regression").update(X, y))
    assert not hasattr(RFS(2), "partial_fit")


def test_there_is_a_partial_fit_only_where_moments_are_enough() -> None:
    assert hasattr(TopK(2), "partial_fit")
    assert not hasattr(TopK(2, loss="logistic"), "partial_fit")
    with pytest.raises(AttributeError, match="loss='l21' needs the samples themselves"):
        TopK(2, loss="l21").partial_fit([[1.0], [2.0]], [0, 1])
