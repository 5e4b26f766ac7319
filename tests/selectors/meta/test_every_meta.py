"""What TopKCV and StabilitySelection owe their user: names, storage, weights, jobs and pickles."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rowsparse import StabilitySelection, TopK, TopKCV
from tests.selectors.cases import classes_of_two

INNER = TopK(2, n_restarts=0, include=["c0"])
SELECTORS = [
    TopKCV(k_max=3, n_restarts=0, include=["c0"], random_state=0),
    TopKCV(k_max=3, estimator=LogisticRegression(), alphas=[0.1, 1.0], include=["c0"]),
    StabilitySelection(INNER, n_subsamples=6, random_state=0),
]


def figures(selector: Any) -> np.ndarray:
    """What the choice rests on."""
    if isinstance(selector, TopKCV):
        return np.asarray(selector.cv_results_["mean_test_score"])
    return np.asarray(selector.frequencies_)


@pytest.mark.parametrize("selector", SELECTORS)
def test_names_storage_pickles_and_jobs_change_nothing(selector):
    pd = pytest.importorskip("pandas")
    X, y = classes_of_two()
    X[np.abs(X) < 0.3] = 0.0
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    plain = clone(selector).set_output(transform="pandas").fit(frame, y)
    names = frame.columns[plain.get_support()].tolist()
    assert {"c0"} < set(names)
    assert list(plain.transform(frame).columns) == names == list(plain.get_feature_names_out())
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(figures(again), figures(plain))
    for backend in ("threading", "loky"):
        with parallel_config(backend):
            two = clone(selector).set_params(n_jobs=2).fit(frame, y)
        np.testing.assert_array_equal(figures(two), figures(plain))
        np.testing.assert_array_equal(two.support_, plain.support_)
    unnamed = clone(selector)
    (getattr(unnamed, "selector", None) or unnamed).set_params(include=[0])
    for kind in (np.asarray, sp.csr_array, sp.csc_matrix):
        found = clone(unnamed).fit(kind(X), y)
        np.testing.assert_allclose(figures(found), figures(plain), rtol=1e-9)
    assert not hasattr(INNER, "support_")


@pytest.mark.parametrize("selector", SELECTORS)
def test_weights_are_routed_and_matter(selector):
    pd = pytest.importorskip("pandas")
    X, y = classes_of_two()
    heavy = np.arange(120) >= 60
    X[heavy, 1] = X[heavy, 2]  # what tells the classes apart is in another column there
    X[heavy, 7] += 6.0 * (y[heavy] == "a")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    weights = np.where(heavy, 1.0, 1e-6)
    direct = clone(selector).fit(frame, y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        asks = clone(selector)
        getattr(asks, "selector", asks).set_fit_request(sample_weight=True)
        last = LogisticRegression().set_fit_request(sample_weight=True)
        routed = make_pipeline(asks, last).fit(frame, y, sample_weight=weights)[0]
    np.testing.assert_allclose(figures(routed), figures(direct))
    assert not np.allclose(figures(direct), figures(clone(selector).fit(frame, y)))


def test_samples_of_weight_zero_are_not_in_the_folds():
    X, y = classes_of_two(n=80)
    weights = np.repeat([1, 0], 40)
    weighted = TopKCV(k_max=3, random_state=0).fit(X, y, weights)
    without = TopKCV(k_max=3, random_state=0).fit(X[:40], y[:40])
    for name, values in weighted.cv_results_.items():
        np.testing.assert_allclose(values, without.cv_results_[name])
