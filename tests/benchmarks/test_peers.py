"""Other packages as selectors: they choose what the packages themselves choose."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.peers import require
from benchmarks.peers.selectors import make_peer
from rowsparse.evaluation import select_for_each


@pytest.fixture(scope="module")
def data():
    return make_classification(80, 24, n_informative=6, n_redundant=4, n_classes=3, random_state=0)


@pytest.mark.parametrize("step_of", [1, 3, 10, 20])
def test_one_elimination_serves_every_k_as_rfe_would(data, step_of):
    X, y = data
    order = make_peer("sklearn-rfe").set_params(random_state=0).fit(X, y).order_
    machine = LinearSVC(dual="auto", random_state=0)
    expected = RFE(machine, n_features_to_select=step_of, step=0.1).fit(X, y)
    assert sorted(order[:step_of]) == np.flatnonzero(expected.support_).tolist()


def test_the_forest_ranks_as_select_from_model_would(data):
    X, y = data
    peer = make_peer("sklearn-forest").set_params(random_state=3, n_features_to_select=5).fit(X, y)
    expected = SelectFromModel(
        RandomForestClassifier(100, random_state=3), max_features=5, threshold=-np.inf
    ).fit(X, y)
    assert np.array_equal(peer.get_support(), expected.get_support())


@pytest.mark.parametrize("name", ["sklearn-f", "sklearn-mi", "sklearn-l1", "sklearn-rfe"])
def test_peers_give_every_k_by_one_fit(data, name):
    found = select_for_each(make_peer(name), *data, ks=[2, 5], seed=0)
    assert [found[k].support.size for k in (2, 5)] == [2, 5]
    assert found[2].shared
    assert set(found[2].support) <= set(found[5].support)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:Inconsistent values")
def test_logistic_regression_ranks_as_select_from_model_would(data):
    X, y = data[0], (data[1] == 0).astype(int)
    peer = make_peer("sklearn-l1").set_params(random_state=0, n_features_to_select=5).fit(X, y)
    machine = LogisticRegression(penalty="l1", solver="liblinear", random_state=0)
    expected = SelectFromModel(machine, max_features=5, threshold=-np.inf).fit(X, y)
    assert np.array_equal(peer.get_support(), expected.get_support())


@pytest.mark.peer
@pytest.mark.parametrize(
    ("name", "module"), [("abess", "abess"), ("fastcan", "fastcan"), ("mrmr-selection", "mrmr")]
)
def test_packages_select_k_features(data, name, module):
    pytest.importorskip(module)
    X, y = data[0].copy(), data[1]
    X[:, 3] = 0.0
    found = select_for_each(make_peer(name), X, y, ks=[2, 5], seed=0)
    assert [found[k].support.size for k in (2, 5)] == [2, 5]
    assert 3 not in found[5].support
    if name in ("abess", "fastcan"):
        labels = (y[:, None] == np.arange(3)).astype(int)
        assert make_peer(name).fit(X, labels).get_support().sum() == 10


@pytest.mark.parametrize(
    ("name", "module"), [("abess", "abess"), ("fastcan", "fastcan"), ("mrmr-selection", "mrmr")]
)
def test_a_package_that_is_not_installed_is_named(data, monkeypatch, name, module):
    monkeypatch.delitem(sys.modules, f"benchmarks.peers.{name.replace('-', '_')}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f'{name} is not installed: pip install "rowsparse.bench'):
        make_peer(name).fit(*data)


def test_a_package_of_the_field_alone_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "benchmarks.peers.okridge", raising=False)
    monkeypatch.setitem(sys.modules, "okridge", None)
    monkeypatch.setitem(sys.modules, "okridge.tree", None)
    with pytest.raises(ImportError, match="okridge is not installed: make bench-field installs it"):
        require("okridge")
