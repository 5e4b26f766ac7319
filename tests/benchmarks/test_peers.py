"""Other packages as selectors: they choose what the packages themselves choose."""

import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.peers.selectors import make_peer
from rowsparse.evaluation.supports import select_for_each


@pytest.fixture(scope="module")
def data():
    return make_classification(80, 24, n_informative=6, n_redundant=4, n_classes=3, random_state=0)


@pytest.mark.parametrize("k", [1, 3, 10, 20])
def test_each_elimination_drops_a_tenth_of_what_is_left(data, k):
    X, y = data
    order = make_peer("sklearn-rfe").set_params(random_state=0).fit(X, y).order_
    kept = np.arange(X.shape[1])
    while kept.size > k:
        step = max(1, kept.size // 10)
        machine = RFE(
            LinearSVC(dual="auto", random_state=0),
            n_features_to_select=max(k, kept.size - step),
            step=step,
        )
        kept = kept[machine.fit(X[:, kept], y).support_]
    assert sorted(order[:k]) == kept.tolist()


def test_the_forest_ranks_as_select_from_model_would(data):
    X, y = data
    peer = make_peer("sklearn-forest").set_params(random_state=3, n_features_to_select=5).fit(X, y)
    expected = SelectFromModel(
        RandomForestClassifier(100, random_state=3), max_features=5, threshold=-np.inf
    ).fit(X, y)
    assert np.array_equal(peer.get_support(), expected.get_support())


@pytest.mark.parametrize(
    "name", ["sklearn-f", "sklearn-mi", "sklearn-l1", "sklearn-rfe", "mrmr-selection"]
)
def test_peers_give_every_k_by_one_fit(data, name):
    found = select_for_each(make_peer(name), *data, ks=[2, 5], seed=0)
    assert [found[k].support.size for k in (2, 5)] == [2, 5]
    assert found[2].shared
    assert set(found[2].support) <= set(found[5].support)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:Inconsistent values")
def test_logistic_regression_weakens_its_penalty_until_k_features_are_left():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    y = (X[:, 3] + 0.1 * rng.standard_normal(30) > 0).astype(int)

    def left_by(C):
        machine = LogisticRegression(penalty="l1", C=C, solver="liblinear", random_state=0)
        return np.abs(machine.fit(X, y).coef_[0])

    first, second = left_by(1.0), left_by(4.0)
    m, k = np.count_nonzero(first), np.count_nonzero(second)
    assert 1 < m < k
    peer = make_peer("sklearn-l1").set_params(random_state=0, n_features_to_select=k).fit(X, y)
    assert peer.order_[:m].tolist() == np.argsort(-first, kind="stable")[:m].tolist()
    second[peer.order_[:m]] = 0.0
    assert peer.order_[m:k].tolist() == np.argsort(-second, kind="stable")[: k - m].tolist()


@pytest.mark.peer
@pytest.mark.parametrize("name", ["srbct", "glioma", "yale", "prostate_ge"])
def test_mrmr_selection_has_the_same_picks(benchmark_data, name):
    package = pytest.importorskip("benchmarks.peers.mrmr_selection")
    X, y = benchmark_data(name)
    X = np.asarray(X, dtype=np.float64)
    peer = make_peer("mrmr-selection").set_params(n_features_to_select=20).fit(X, y)
    expected = package.select(*package.frames(X, y), 20)
    assert peer.order_[:20].tolist() == expected.tolist()


@pytest.mark.peer
@pytest.mark.parametrize(("name", "module"), [("abess", "abess"), ("fastcan", "fastcan")])
def test_packages_select_k_features(data, name, module):
    pytest.importorskip(module)
    X, y = data[0].copy(), data[1]
    X[:, 3] = 0.0
    found = select_for_each(make_peer(name), X, y, ks=[2, 5], seed=0)
    assert [found[k].support.size for k in (2, 5)] == [2, 5]
    assert 3 not in found[5].support
    labels = (y[:, None] == np.arange(3)).astype(int)
    assert make_peer(name).fit(X, labels).get_support().sum() == 10


@pytest.mark.parametrize(("name", "module"), [("abess", "abess"), ("fastcan", "fastcan")])
def test_a_package_that_is_not_installed_is_named(data, monkeypatch, name, module):
    monkeypatch.delitem(sys.modules, f"benchmarks.peers.{name.replace('-', '_')}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f'{name} is not installed: pip install "rowsparse.bench'):
        make_peer(name).fit(*data)
