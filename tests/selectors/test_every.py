"""What every selector owes its user: exactly k features, and what must make no difference."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse.selectors.registry import selector_info

from .cases import all_selectors, one_of_each
from .cases import planted_classes as classes

N, D, K = 60, 14, 3
PLANTED = [1, 5, 8]
SELECTORS = all_selectors(K)
LINEAR = list(all_selectors(K, linear=True))
SELECTIVE = [name for name in SELECTORS if name != "AllFeatures"]
SCORING = [n for n in SELECTIVE if n not in LINEAR and selector_info(n).kind != "deep"]
# What the base classes do for all selectors.
SHARED = [name for name in one_of_each(K) if name != "ConcreteAutoencoder"]
SHARED_LINEAR = list(one_of_each(K, linear=True))
TASKS = {
    "classes": "classification",
    "two classes": "classification",
    "labels": "multilabel",
    "numbers": "regression",
    "many numbers": "regression",
}

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*did not converge", "ignore:.*non-zero rows at this penalty"
)


def numbers(n: int = N, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A number made of columns 1, 5 and 8, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, PLANTED] @ [2.0, -1.5, 1.0] + 0.1 * rng.standard_normal(n)


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
    assert selector.support_.sum() == k == selector.get_support().sum()
    np.testing.assert_array_equal(selector.ranking_ == 1, selector.support_)
    rest = np.sort(selector.ranking_[~selector.support_])
    np.testing.assert_array_equal(rest, np.arange(2, d - k + 2))
    for name, value in vars(selector).items():
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            assert not np.isnan(value).any() or name == "pvalues_", name


def assert_same_model(first: Any, second: Any, rtol: float = 1e-4) -> None:
    assert chosen(first) == chosen(second)
    np.testing.assert_allclose(first.objective_, second.objective_, rtol=rtol)
    largest = np.abs(first.coef_).max()
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=0, atol=100 * rtol * largest)


# ------------------------------------------------------------------------------- targets
@pytest.mark.parametrize("name", SELECTORS)
def test_every_kind_of_target_is_taken_or_refused(name):
    for kind, task in TASKS.items():
        X, y = problem(kind)
        if task not in selector_info(name).tasks:
            with pytest.raises(ValueError, match=f"{name} takes targets for .*; y is for {task}."):
                SELECTORS[name]().fit(X, y)
            continue
        selector = SELECTORS[name]().fit(X, y)
        assert_sound(selector, K if name in SELECTIVE else D, D)
        assert selector.task_ == task
        assert hasattr(selector, "classes_") == ("classes" in kind)
        np.testing.assert_array_equal(selector.transform(X), X[:, selector.support_])
        if name in LINEAR:
            # As in scikit-learn, a single column of numbers has no axis of targets.
            two = 1 if name == "TopK" else 2
            targets = dict(zip(TASKS, [(3,), (two,), (3,), (), (2,)], strict=True))[kind]
            assert selector.coef_.shape == (*targets, D)
            assert np.shape(selector.intercept_) == targets
            assert kind not in ("classes", "numbers") or chosen(selector) == PLANTED


def test_targets_are_optional_for_unsupervised_selectors():
    X, _ = classes()
    for name in SELECTORS:
        if not selector_info(name).supervised:
            selector = SELECTORS[name]().fit(X)
            assert not hasattr(selector, "task_"), name
            assert not hasattr(selector, "classes_"), name
            assert selector.support_.any(), name


@pytest.mark.parametrize("name", SHARED_LINEAR)
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


# --------------------------------------------------------------------------- exactly k
@pytest.mark.parametrize("name", SELECTIVE)
def test_constant_columns_come_last(name):
    X, y = classes()
    X[:, [0, 3, 9]] = [1.0, 0.0, -7.5]
    selector = SELECTORS[name](k=D - 3).fit(X, y)
    assert not selector.support_[[0, 3, 9]].any()
    np.testing.assert_array_equal(selector.scores_[[0, 3, 9]], 0.0)
    with pytest.warns(UserWarning, match=r"2 constant columns were add|2 of the .* are constant"):
        selector = SELECTORS[name](k=D - 1).fit(X, y)
    assert_sound(selector, D - 1, D)
    assert selector.support_[[1, 2, *range(4, 9), *range(10, D)]].all()


@pytest.mark.parametrize("name", LINEAR)
def test_exactly_k_on_degenerate_columns(name):
    for kind in TASKS:
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


@pytest.mark.parametrize("name", LINEAR)
def test_more_features_than_samples(name):
    X, y = classes(n=6, d=20)
    for k in (2, 8):
        limit = {"max_iter": 200} if "max_iter" in SELECTORS[name]().get_params() else {}
        assert_sound(SELECTORS[name](k=k, **limit).fit(X, y), k, 20)


@pytest.mark.parametrize("name", SHARED)
def test_all_features_a_fraction_of_them_and_more(name):
    X, y = classes(d=9)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*n_features_to_select")
        assert_sound(SELECTORS[name](k=9).fit(X, y), 9, 9)
        for share, k in ((0.34, 3), (0.5, 4), (1e-6, 1)):
            assert SELECTORS[name](k=share).fit(X, y).support_.sum() == k
    with pytest.warns(UserWarning, match="n_features_to_select=20 is greater than n_features=9"):
        selector = SELECTORS[name](k=20).fit(X, y)
    assert_sound(selector, 9, 9)


# -------------------------------------------------------------------- scikit-learn's world
@pytest.mark.parametrize("name", SHARED)
def test_names_and_output_of_data_frames(name):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = classes()
    names = [f"f{j}" for j in range(D)]
    for package in (pd, pl):
        frame = package.DataFrame(dict(zip(names, X.T, strict=True)))
        selector = SELECTORS[name]().fit(frame, y)
        kept = [names[j] for j in chosen(selector)]
        assert selector.feature_names_in_.tolist() == names
        assert selector.get_feature_names_out().tolist() == kept
        for output, kind in (("pandas", pd), ("polars", pl)):
            out = clone(selector).set_output(transform=output).fit_transform(frame, y)
            assert isinstance(out, kind.DataFrame)
            assert list(out.columns) == kept
            np.testing.assert_array_equal(out.to_numpy(), X[:, selector.support_])
    plain = SELECTORS[name]().fit(frame.to_numpy(), y)
    assert not hasattr(plain, "feature_names_in_")
    again = selector.fit(X, y).get_feature_names_out()
    assert again.tolist() == [f"x{j}" for j in chosen(selector)]


@pytest.mark.parametrize("name", SHARED_LINEAR)
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


@pytest.mark.parametrize("name", SELECTORS)
def test_pipeline_and_pickle(name):
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), SELECTORS[name](), LogisticRegression()).fit(X, y)
    selector = pipeline[1]
    assert name not in LINEAR or pipeline.score(X, y) > 0.95
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipeline[:-1].transform(X), scaled[:, selector.support_])
    again = pickle.loads(pickle.dumps(selector))
    assert list(vars(again)) == list(vars(selector))
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
    if name in LINEAR:
        for attribute, value in vars(selector).items():
            np.testing.assert_equal(vars(again)[attribute], value)


@pytest.mark.parametrize("name", LINEAR)
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


@pytest.mark.parametrize("name", SELECTORS)
def test_data_are_not_modified(name):
    X, y = classes()
    X.setflags(write=False)
    weighted = {"sample_weight": np.linspace(0.5, 2, N)} if name in LINEAR else {}
    y_before = y.copy()
    for kind in (np.asarray, np.asfortranarray, sp.csr_array):
        held = kind(X)
        SELECTORS[name]().fit(held, y, **weighted)
        np.testing.assert_array_equal(held.toarray() if sp.issparse(held) else held, X)
        np.testing.assert_array_equal(y, y_before)
        for weights in weighted.values():
            np.testing.assert_array_equal(weights, np.linspace(0.5, 2, N))


# ------------------------------------------------------------ what must make no difference
def test_the_same_seed_gives_the_same_answer():
    X, y = classes(seed=3)
    for name in SELECTORS:
        if selector_info(name).random:
            first, second = (SELECTORS[name](random_state=5).fit(X, y) for _ in range(2))
            np.testing.assert_array_equal(first.scores_, second.scores_, name)
            np.testing.assert_array_equal(first.support_, second.support_, name)


def test_the_number_of_jobs_does_not_change_the_answer():
    X, y = classes(n=40, d=200)
    for name in SELECTORS:
        if "n_jobs" in SELECTORS[name]().get_params():
            one, two = (SELECTORS[name](k=6, n_jobs=n).fit(X, y) for n in (None, 2))
            np.testing.assert_array_equal(one.support_, two.support_, name)
            np.testing.assert_array_equal(one.scores_, two.scores_, name)


@pytest.mark.parametrize("name", LINEAR)
def test_weights_are_repetitions(name):
    counts = np.random.default_rng(1).integers(0, 4, N)
    rows = np.repeat(np.arange(N), counts)
    for kind, class_weight in (("classes", None), ("classes", "balanced"), ("numbers", None)):
        X, y = problem(kind)
        weighted = SELECTORS[name](class_weight=class_weight).fit(X, y, sample_weight=counts)
        repeated = SELECTORS[name](class_weight=class_weight).fit(X[rows], y[rows])
        assert_same_model(weighted, repeated)


@pytest.mark.parametrize("name", LINEAR)
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


@pytest.mark.parametrize("name", SELECTORS)
def test_sparse_is_dense(name):
    X, y = classes()
    X[np.abs(X) < 0.5] = 0.0
    for options in [{"standardize": False}, {"standardize": True}] if name in LINEAR else [{}]:
        dense = SELECTORS[name](**options).fit(X, y)
        for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
            sparse = SELECTORS[name](**options).fit(kind(X), y)
            np.testing.assert_array_equal(sparse.support_, dense.support_)
            if name in LINEAR:
                assert_same_model(dense, sparse)
            else:
                np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-5, atol=1e-7)
            out = sparse.transform(sp.csr_array(X))
            assert sp.issparse(out)
            np.testing.assert_array_equal(out.toarray(), X[:, sparse.support_])


@pytest.mark.parametrize("name", [n for n in SELECTORS if selector_info(n).kind != "deep"])
def test_single_precision_is_close_to_double(name):
    for kind in ("classes", "numbers") if name in LINEAR else ("classes",):
        X, y = problem(kind)
        double = SELECTORS[name]().fit(X, y)
        single = SELECTORS[name]().fit(X.astype(np.float32), y)
        if name in LINEAR:
            assert_same_model(double, single, 1e-3)
        assert (double.support_ & single.support_).sum() >= double.support_.sum() - 1
        assert single.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", LINEAR)
def test_order_of_rows_and_columns_does_not_matter(name):
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(N), rng.permutation(D)
    for kind in ("classes", "numbers"):
        X, y = problem(kind)
        plain = SELECTORS[name]().fit(X, y)
        by_rows = SELECTORS[name]().fit(X[rows], y[rows])
        by_columns = SELECTORS[name]().fit(X[:, columns], y)
        assert chosen(plain) == chosen(by_rows) == sorted(columns[by_columns.support_])
        for other in (by_rows, by_columns):
            np.testing.assert_allclose(plain.objective_, other.objective_, rtol=1e-4)


# MRMR bins its columns, and equal scores go by the order of the columns.
@pytest.mark.parametrize("name", [name for name in SCORING if name != "MRMR"])
def test_order_of_columns_and_constant_ones_do_not_matter_to_scores(name):
    X, y = classes()
    order = np.random.default_rng(3).permutation(D)
    plain = SELECTORS[name]().fit(X, y)
    permuted = SELECTORS[name]().fit(X[:, order], y)
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], rtol=1e-5, atol=1e-9)
    constant = SELECTORS[name]().fit(np.insert(X, 3, 7.0, axis=1), y)
    np.testing.assert_array_equal(np.delete(constant.support_, 3), plain.support_)


@pytest.mark.parametrize("name", SELECTORS)
def test_names_of_classes_do_not_matter(name):
    X, y = classes()
    if "classification" not in selector_info(name).tasks:
        pytest.skip("it takes no classes")
    plain = SELECTORS[name]().fit(X, y)
    # A network starts from another place where the classes are in another order.
    same_order = selector_info(name).kind == "deep"
    names = ["ant", "mole", "zebra"] if same_order else ["zebra", "ant", "mole"]
    renamed = SELECTORS[name]().fit(X, np.array(names)[y])
    assert renamed.classes_.tolist() == ["ant", "mole", "zebra"]
    assert chosen(plain) == chosen(renamed)
    if name in LINEAR:
        np.testing.assert_allclose(plain.objective_, renamed.objective_, rtol=1e-4)
        largest = np.abs(plain.coef_).max()
        np.testing.assert_allclose(plain.coef_[[1, 2, 0]], renamed.coef_, atol=1e-2 * largest)


@pytest.mark.parametrize("name", SHARED)
def test_small_integers_do_not_overflow(name):
    X, y = classes()
    image = np.clip(X * 20 + 128, 0, 255).astype(np.uint8)
    assert image.max() > 200
    for options in [{"standardize": False}, {"standardize": True}] if name in LINEAR else [{}]:
        small = SELECTORS[name](**options).fit(image, y)
        exact = SELECTORS[name](**options).fit(image.astype(float), y)
        np.testing.assert_allclose(small.scores_, exact.scores_, rtol=1e-9)


@pytest.mark.parametrize("name", LINEAR)
def test_a_large_offset_does_not_matter(name):
    X, y = classes()
    for dtype, offset in ((np.float32, 1e6), (np.float64, 1e9)):
        shifted = (X * 8 + offset).astype(dtype)
        back = shifted.astype(np.float64) - offset
        assert_same_model(SELECTORS[name]().fit(back, y), SELECTORS[name]().fit(shifted, y), 1e-3)
