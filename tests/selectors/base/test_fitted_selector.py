"""What a fitted selector has and offers: attributes, reduced arrays, a summary in a notebook."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError

from rowsparse import StabilitySelection, TopK, TopKCV, get_selector
from rowsparse.selectors.base.fitted_selector import summary_html, unchanged_on_error

FRAME, y = load_wine(return_X_y=True, as_frame=True)
HOSTILE = ["<script>alert(1)</script>", '"><img src=x>', "a\u202eb\x00", "x" * 1000, "naïve & 漢字"]


def shown(selector: Any) -> str:
    """What both ways of a notebook to ask give."""
    page = selector._repr_html_()
    bundle = selector._repr_mimebundle_()
    assert ("rowsparse-summary" in page) == ("rowsparse-summary" in bundle["text/html"])
    assert bundle["text/plain"] == repr(selector)
    return str(page)


def test_the_selected_features_come_first_with_scores_and_coefficients() -> None:
    fitted = TopK(3, random_state=0).fit(FRAME, y)
    page = shown(fitted)
    summary = page[: page.index("</div>")]
    order = np.argsort(-fitted.scores_)[:3]
    places = [summary.index(f"<bdi>{FRAME.columns[j]}</bdi>") for j in order]
    assert places == sorted(places)
    assert summary.count("<bdi>") == 3
    assert "3 of 13 features" in summary
    assert f"{fitted.objective_:.4g}" in summary
    assert f"{fitted.scores_[order[0]]:.4g}" in summary
    largest = fitted.coef_[np.abs(fitted.coef_[:, order[0]]).argmax(), order[0]]
    assert f"{largest:.4g}".replace("-", "\u2212") in summary
    assert "not proven to be the best" in summary
    assert "sk-container" in page


def test_a_proof_is_told() -> None:
    assert "proven to be the least possible" in shown(TopK(2, certify=True).fit(FRAME, y))
    close = TopK(2).fit(FRAME, y)
    close.status_, close.gap_ = "gap", 0.012341
    assert "within 1.24 % of the lowest possible" in summary_html(close)


@pytest.mark.parametrize(
    "selector",
    [get_selector("relieff", 2), TopKCV(k_max=4), StabilitySelection(TopK(2), n_subsamples=4)],
)
def test_selectors_of_every_kind_have_a_summary(selector: Any) -> None:
    assert "rowsparse-summary" not in shown(selector)
    fitted = clone(selector).fit(FRAME.to_numpy(), y)
    page = shown(fitted)
    assert page.index("rowsparse-summary") < page.index("sk-container")
    assert f"<bdi>x{np.flatnonzero(fitted.get_support())[0]}</bdi>" in page
    # Asking for it changes nothing.
    assert "rowsparse-summary" not in shown(clone(fitted))


def test_names_are_text() -> None:
    X = pd.DataFrame(FRAME.to_numpy()[:, :5], columns=HOSTILE)
    page = summary_html(TopK(5).fit(X, y))
    assert "<script>" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
    assert "x" * 100 not in page
    assert "naïve &amp; 漢字" in page


def test_text_is_shown_where_text_is_wanted() -> None:
    with config_context(display="text"):
        fitted = TopK(2).fit(FRAME, y)
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}


# ----------------------------------------------------------------------- fitted attributes
class Fitted:
    def __init__(self) -> None:
        self.alpha = 1.0
        self.coef_ = 2.0
        self.n_features_in_ = 3
        self._private_ = 4


def fail(estimator: Fitted) -> None:
    with unchanged_on_error(estimator):
        estimator.coef_ = 0.0
        estimator.new_ = 5
        del estimator.n_features_in_
        estimator._callback_context = "theirs"
        raise KeyboardInterrupt


def test_an_error_leaves_the_estimator_as_it_was_but_for_callbacks():
    estimator = Fitted()
    before = dict(vars(estimator))
    with pytest.raises(KeyboardInterrupt):
        fail(estimator)
    assert vars(estimator) == before | {"_callback_context": "theirs"}


# ---------------------------------------------------------------------------- the choice
def test_only_after_fit():
    strict = pytest.importorskip("array_api_strict")
    for X in (np.ones((3, 2)), strict.ones((3, 2))):
        with pytest.raises(NotFittedError):
            TopK(1).transform(X)
        with pytest.raises(NotFittedError):
            TopK(1).inverse_transform(X)
