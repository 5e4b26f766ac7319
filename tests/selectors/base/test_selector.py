"""What every selector with coefficients owes its user, whatever the method."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from rowsparse import RFS
from rowsparse._compat import HAS_CALLBACKS
from tests.selectors.cases import all_selectors

N, D, K = 45, 12, 3
SELECTORS = all_selectors(K, linear=True)
NAMES = list(SELECTORS)
TARGETS = ("classes", "two classes", "labels", "numbers", "many numbers")

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*did not converge", "ignore:.*non-zero rows at this penalty"
)


def classes(n: int = N, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes told apart by columns 1, 5 and 8, clearly."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, [1, 5, 8]] *= 0.4
    X[:, [1, 5, 8]] += 3.0 * np.array([[1, 0, -0.2], [0, 1, -1], [-1, -0.5, 1]])[y]
    return X, y


def numbers(n: int = N, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A number made of columns 1, 5 and 8, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, [1, 5, 8]] @ [2.0, -1.5, 1.0] + 0.1 * rng.standard_normal(n)


def problem(kind: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = numbers() if "numbers" in kind else classes()
    targets = {
        "classes": y,
        "two classes": y > 0,
        "labels": np.column_stack([y == 0, y > 0, X[:, 1] > 0]).astype(int),
        "numbers": y,
        "many numbers": np.column_stack([y, y + X[:, 5]]),
    }
    return X, targets[kind]


def chosen(selector: Any) -> list[int]:
    return np.flatnonzero(selector.support_).tolist()


def assert_sound(selector: Any, k: int, d: int) -> None:
    """Exactly k features, a ranking that agrees, and no NaN anywhere."""
    assert selector.support_.dtype == bool
    assert selector.support_.shape == selector.scores_.shape == selector.ranking_.shape == (d,)
    assert selector.support_.sum() == k
    np.testing.assert_array_equal(selector.ranking_ == 1, selector.support_)
    rest = np.sort(selector.ranking_[~selector.support_])
    np.testing.assert_array_equal(rest, np.arange(2, d - k + 2))
    for name, value in vars(selector).items():
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            assert not np.isnan(value).any(), name


# -------------------------------------------------------------------- scikit-learn's world
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_target(name, kind):
    X, y = problem(kind)
    selector = SELECTORS[name]().fit(X, y)
    assert_sound(selector, K, D)
    n_targets = {"classes": 3, "two classes": 2, "labels": 3, "numbers": 1, "many numbers": 2}
    if name == "TopK":
        n_targets["two classes"] = 1
    # As in scikit-learn, a single column of numbers has no axis of targets.
    one_row = name == "TopK" and kind == "two classes"  # of logistic regression
    targets = () if kind == "numbers" else (1 if one_row else n_targets[kind],)
    assert selector.coef_.shape == (*targets, D)
    assert np.shape(selector.intercept_) == targets
    assert hasattr(selector, "classes_") == ("classes" in kind)
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.support_])
    if kind in ("classes", "numbers"):
        assert chosen(selector) == [1, 5, 8]


@pytest.mark.parametrize("name", NAMES)
def test_clone_set_params_and_repr(name):
    X, y = classes()
    selector = SELECTORS[name]().fit(X, y)
    fresh = clone(selector)
    assert fresh.get_params() == selector.get_params()
    assert not [v for v in vars(fresh) if v.endswith("_")]
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    with pytest.raises(NotFittedError):
        fresh.get_support()
    assert fresh.set_params(n_features_to_select=2).fit(X, y).support_.sum() == 2
    assert repr(selector).startswith(f"{name}(")
    assert f"{name}" in estimator_html_repr(selector)
    assert "Not fitted" in estimator_html_repr(clone(selector))


@pytest.mark.parametrize("name", NAMES)
def test_pipeline(name):
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), SELECTORS[name](), LogisticRegression()).fit(X, y)
    assert pipeline.score(X, y) > 0.95
    assert pipeline[:-1].get_feature_names_out().tolist() == ["x1", "x5", "x8"]


@pytest.mark.parametrize("name", NAMES)
def test_names_and_output_of_data_frames(name):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = classes()
    names = [f"f{j}" for j in range(D)]
    for package in (pd, pl):
        frame = package.DataFrame(dict(zip(names, X.T, strict=True)))
        selector = SELECTORS[name]().fit(frame, y)
        assert selector.feature_names_in_.tolist() == names
        assert selector.get_feature_names_out().tolist() == ["f1", "f5", "f8"]
        for output, kind in (("pandas", pd), ("polars", pl)):
            out = clone(selector).set_output(transform=output).fit_transform(frame, y)
            assert isinstance(out, kind.DataFrame)
            assert list(out.columns) == ["f1", "f5", "f8"]
            np.testing.assert_array_equal(out.to_numpy(), X[:, [1, 5, 8]])
    plain = SELECTORS[name]().fit(frame.to_numpy(), y)
    assert not hasattr(plain, "feature_names_in_")
    assert selector.fit(X, y).get_feature_names_out().tolist() == ["x1", "x5", "x8"]


@pytest.mark.parametrize("name", NAMES)
def test_sample_weights_are_routed(name):
    X, y = classes()
    weights = np.ones(N)
    weights[::4] = 0.0
    kept = weights > 0
    with sklearn.config_context(enable_metadata_routing=True):
        selector = SELECTORS[name]().set_fit_request(sample_weight=True)
        final = LogisticRegression().set_fit_request(sample_weight=False)
        final.set_score_request(sample_weight=True)
        pipeline = make_pipeline(selector, final).fit(X, y, sample_weight=weights)
        alone = SELECTORS[name]().fit(X[kept], y[kept])
        np.testing.assert_allclose(pipeline[0].coef_, alone.coef_, rtol=1e-4, atol=1e-6)
        step = type(selector).__name__.lower()
        search = GridSearchCV(pipeline, {f"{step}__n_features_to_select": [1, 3]}, cv=2)
        search.fit(X, y, sample_weight=weights)
        best = search.best_estimator_[0]
        alone = SELECTORS[name](k=best.n_features_to_select).fit(X[kept], y[kept])
        np.testing.assert_allclose(best.coef_, alone.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_pickle_round_trip(name):
    X, y = classes()
    selector = SELECTORS[name]().fit(X, y)
    again = pickle.loads(pickle.dumps(selector))
    assert list(vars(again)) == list(vars(selector))
    for attribute, value in vars(selector).items():
        np.testing.assert_equal(vars(again)[attribute], value)
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))


@pytest.mark.parametrize("name", NAMES)
def test_no_training_data_are_kept(name):
    sizes = []
    for n in (60, 600):
        X, y = classes(n)
        selector = SELECTORS[name](k=2).fit(X, y)
        selector.history_ = selector.history_[:1]
        for attribute, value in vars(selector).items():
            if isinstance(value, np.ndarray):
                assert not np.shares_memory(value, X), attribute
                assert not np.shares_memory(value, y), attribute
                assert attribute == "dual_coef_" or n not in value.shape, attribute
        if hasattr(selector, "dual_coef_"):
            del selector.dual_coef_
        sizes.append(len(pickle.dumps(selector)))
    assert abs(sizes[1] - sizes[0]) < 1000


@pytest.mark.parametrize("kind", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("name", NAMES)
def test_data_are_not_modified(name, kind):
    X, y = classes()
    held, weights = kind(X), np.linspace(0.5, 2, N)
    y_before, weights_before = y.copy(), weights.copy()
    SELECTORS[name]().fit(held, y, sample_weight=weights)
    np.testing.assert_array_equal(held.toarray() if sp.issparse(held) else held, X)
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(weights, weights_before)


# ---------------------------------------------------------------------------- callbacks
class Counter:
    """Counts the iterations it is told of, and may ask to stop."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.objectives: list[float] = []
        self.hooks: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.hooks.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.hooks.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        if context.task_name != "iteration":
            self.hooks.append("begin")

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        if context.task_name != "iteration":
            self.hooks.append("end")
            return False
        self.objectives.append(metadata["objective"])
        return self.stop_after is not None and len(self.objectives) >= self.stop_after


needs_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")


def hard_problem() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(80, 60, n_informative=8, n_redundant=10, n_classes=3, random_state=0)


@needs_callbacks
@pytest.mark.parametrize("name", NAMES)
def test_callbacks_hear_of_every_iteration(name):
    X, y = hard_problem()
    counter = Counter()
    selector = SELECTORS[name]()
    selector.set_callbacks(counter)
    selector.fit(X, y)
    assert counter.hooks == ["setup", "begin", "end", "teardown"]
    assert len(counter.objectives) >= 1
    assert np.isfinite(counter.objectives).all()
    silent = SELECTORS[name]().fit(X, y)
    np.testing.assert_array_equal(selector.coef_, silent.coef_)
    np.testing.assert_array_equal(selector.support_, silent.support_)


@needs_callbacks
@pytest.mark.parametrize("options", [{"solver": "admm", "gamma": 1.0}, {"solver": "irls"}])
def test_a_callback_can_stop_rfs(options):
    X, y = hard_problem()
    counter = Counter(stop_after=1)
    selector = RFS(5, tol=1e-9, **options)
    selector.set_callbacks(counter)
    with pytest.warns(ConvergenceWarning):
        selector.fit(X, y)
    assert selector.converged_ is False
    assert_sound(selector, 5, 60)
    assert selector.n_iter_ < RFS(5, tol=1e-9, **options).fit(X, y).n_iter_


@needs_callbacks
def test_progress_bar_and_failing_fit():
    from sklearn.callback import ProgressBar

    pytest.importorskip("rich")
    X, y = classes()
    selector = RFS(K)
    selector.set_callbacks(ProgressBar())
    assert chosen(selector.fit(X, y)) == [1, 5, 8]
    counter = Counter()
    failing = RFS(0)
    failing.set_callbacks(counter)
    with pytest.raises(ValueError, match="n_features_to_select"):
        failing.fit(X, y)
    assert not [v for v in vars(failing) if v.endswith("_") and not v.startswith("_")]
    assert chosen(failing.set_params(n_features_to_select=K).fit(X, y)) == [1, 5, 8]


# --------------------------------------------------------------------------- exactly k
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_exactly_k_on_degenerate_columns(name, kind):
    X, y = problem(kind)
    X[:, 0] = 0.1
    X[:, 2] = 0.0
    X[:, 6] = X[:, 5]
    X[:, 7] = X[:, 5] - 2 * X[:, 1]
    X[:, 9] = 1e5 * X[:, 8] + 1e3
    for k in (1, 5):
        selector = SELECTORS[name](k=k).fit(X, y)
        assert_sound(selector, k, D)
        assert not selector.support_[[0, 2]].any()
        assert not selector.coef_[..., [0, 2]].any()
        assert not selector.scores_[[0, 2]].any()
        assert set(selector.ranking_[[0, 2]]) == {D - k, D - k + 1}


@pytest.mark.parametrize("name", NAMES)
def test_constant_columns_fill_up_only_when_they_must(name):
    X, y = classes()
    X[:, 3:] = 1.0
    with pytest.warns(UserWarning, match=r"2 constant columns were add|2 of the .* are constant"):
        selector = SELECTORS[name](k=5).fit(X, y)
    assert_sound(selector, 5, D)
    assert selector.support_[:3].all()


@pytest.mark.parametrize("name", NAMES)
def test_more_features_than_samples(name):
    X, y = classes(n=6, d=20)
    for k in (2, 8):
        limit = {"max_iter": 200} if "max_iter" in SELECTORS[name]().get_params() else {}
        assert_sound(SELECTORS[name](k=k, **limit).fit(X, y), k, 20)


@pytest.mark.parametrize("name", NAMES)
def test_all_features_and_more(name):
    X, y = classes(d=9)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*n_features_to_select")
        assert_sound(SELECTORS[name](k=9).fit(X, y), 9, 9)
    with pytest.warns(UserWarning, match="n_features_to_select=20 is greater than n_features=9"):
        selector = SELECTORS[name](k=20).fit(X, y)
    assert_sound(selector, 9, 9)


@pytest.mark.parametrize("name", NAMES)
def test_a_fraction_of_the_features(name):
    X, y = classes()
    for share, k in ((0.25, 3), (0.5, 6), (1e-6, 1)):
        assert SELECTORS[name](k=share).fit(X, y).support_.sum() == k


@pytest.mark.parametrize("name", NAMES)
def test_another_task_forgets_the_last(name):
    selector = SELECTORS[name]().fit(*classes())
    assert selector.classes_.tolist() == [0, 1, 2]
    assert selector.task_ == "classification"
    X, y = numbers(d=9)
    selector.fit(X, y)
    fresh = SELECTORS[name]().fit(X, y)
    assert not hasattr(selector, "classes_")
    assert selector.task_ == "regression"
    assert set(vars(selector)) == set(vars(fresh))
    assert selector.n_features_in_ == 9
    np.testing.assert_array_equal(selector.coef_, fresh.coef_)


# ------------------------------------------------------------ what must make no difference
def assert_same_model(first: Any, second: Any, rtol: float = 1e-4) -> None:
    assert chosen(first) == chosen(second)
    np.testing.assert_allclose(first.objective_, second.objective_, rtol=rtol)
    largest = np.abs(first.coef_).max()
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=0, atol=100 * rtol * largest)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_repetitions(name, class_weight, kind):
    X, y = problem(kind)
    class_weight = class_weight if kind == "classes" else None
    counts = np.random.default_rng(1).integers(0, 4, N)
    weighted = SELECTORS[name](class_weight=class_weight).fit(X, y, sample_weight=counts)
    rows = np.repeat(np.arange(N), counts)
    repeated = SELECTORS[name](class_weight=class_weight).fit(X[rows], y[rows])
    assert_same_model(weighted, repeated)


@pytest.mark.parametrize("name", NAMES)
def test_weight_zero_is_absence(name):
    X, y = classes()
    absent = np.arange(N) < 10
    X[absent] = 1e6
    y[:5] = 7  # a class that only absent samples have
    weighted = SELECTORS[name]().fit(X, y, sample_weight=np.where(absent, 0.0, 1.0))
    without = SELECTORS[name]().fit(X[~absent], y[~absent])
    assert weighted.classes_.tolist() == [0, 1, 2]
    assert_same_model(weighted, without, 1e-9)
    sparse = SELECTORS[name]().fit(sp.csr_array(X), y, sample_weight=np.where(absent, 0.0, 1.0))
    assert_same_model(sparse, without, 1e-6)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("name", NAMES)
def test_sparse_is_dense(name, kind, standardize):
    X, y = classes()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    dense = SELECTORS[name](standardize=standardize).fit(X, y)
    sparse = SELECTORS[name](standardize=standardize).fit(kind(X), y)
    assert_same_model(dense, sparse)
    out = sparse.transform(sp.csr_array(X))
    assert sp.issparse(out)
    np.testing.assert_array_equal(out.toarray(), X[:, sparse.support_])


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("name", NAMES)
def test_single_precision_is_close_to_double(name, kind):
    X, y = problem(kind)
    double = SELECTORS[name]().fit(X, y)
    single = SELECTORS[name]().fit(X.astype(np.float32), y)
    assert_same_model(double, single, 1e-3)
    assert single.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("name", NAMES)
def test_order_of_rows_and_columns_does_not_matter(name, kind):
    X, y = problem(kind)
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(N), rng.permutation(D)
    plain = SELECTORS[name]().fit(X, y)
    by_rows = SELECTORS[name]().fit(X[rows], y[rows])
    by_columns = SELECTORS[name]().fit(X[:, columns], y)
    assert chosen(plain) == chosen(by_rows) == sorted(columns[by_columns.support_])
    for other in (by_rows, by_columns):
        np.testing.assert_allclose(plain.objective_, other.objective_, rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_classes_do_not_matter(name):
    X, y = classes()
    plain = SELECTORS[name]().fit(X, y)
    renamed = SELECTORS[name]().fit(X, np.array(["zebra", "ant", "mole"])[y])
    assert renamed.classes_.tolist() == ["ant", "mole", "zebra"]
    assert chosen(plain) == chosen(renamed)
    np.testing.assert_allclose(plain.objective_, renamed.objective_, rtol=1e-4)
    largest = np.abs(plain.coef_).max()
    np.testing.assert_allclose(plain.coef_[[1, 2, 0]], renamed.coef_, atol=1e-2 * largest)


@pytest.mark.parametrize("name", NAMES)
def test_small_integers_do_not_overflow(name):
    X, y = classes()
    image = np.clip(X * 20 + 128, 0, 255).astype(np.uint8)
    assert image.max() > 200
    for standardize in (False, True):
        small = SELECTORS[name](standardize=standardize).fit(image, y)
        exact = SELECTORS[name](standardize=standardize).fit(image.astype(float), y)
        assert_same_model(small, exact, 1e-12)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("name", NAMES)
def test_magnitudes_do_not_matter(name, kind, standardize):
    X, y = problem(kind)
    plain = SELECTORS[name](standardize=standardize).fit(X, y)
    scales = [(1e150, 1.0), (1e-150, 1.0)]
    scales += [(1.0, 1e150), (1.0, 1e-150)] if kind == "numbers" else []
    for x_scale, y_scale in scales:
        selector = SELECTORS[name](standardize=standardize).fit(
            X * x_scale, y if kind == "classes" else y * y_scale
        )
        assert_sound(selector, K, D)
        penalties = [getattr(selector, name, None) for name in ("gamma", "ridge")]
        if any(value is not None for value in penalties) and not standardize:
            continue  # a given penalty means something else at every scale
        assert chosen(selector) == chosen(plain), (x_scale, y_scale)
        if name == "LpInf":
            continue  # two starts may tie: the same features, at either's penalty
        coef = selector.coef_ * x_scale / y_scale
        largest = np.abs(plain.coef_).max()
        np.testing.assert_allclose(coef, plain.coef_, rtol=0, atol=1e-2 * largest)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_magnitudes_of_single_precision_do_not_matter(name, standardize):
    X, y = classes()
    plain = SELECTORS[name](standardize=standardize).fit(X.astype(np.float32), y)
    for scale in (1e30,) if standardize else (1e-30,):
        scaled = (X * scale).astype(np.float32)
        selector = SELECTORS[name](standardize=standardize).fit(scaled, y)
        assert_sound(selector, K, D)
        if getattr(selector, "gamma", None) is None or standardize:
            assert chosen(selector) == chosen(plain), scale


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_a_large_offset_does_not_matter(name, dtype):
    X, y = classes()
    offset = 1e6 if dtype == np.float32 else 1e9
    shifted = (X * 8 + offset).astype(dtype)
    back = shifted.astype(np.float64) - offset
    assert_same_model(SELECTORS[name]().fit(back, y), SELECTORS[name]().fit(shifted, y), 1e-3)
