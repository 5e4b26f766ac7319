"""What every filter owes its user: the order, the units and the storage of X change nothing."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import get_selector
from tests.design.cases import with_duplicates
from tests.selectors.cases import labels_of_columns, unequal_classes

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("fstatistic", {}),
    ("fstatistic", {"multilabel": "binary_relevance"}),
    ("fisherscore", {}),
    ("ttest", {}),
    ("ttest", {"equal_var": False, "multiclass": "ovr_mean"}),
    ("ttest", {"multiclass": "ovr_max", "ddof": 0}),
    ("ttest", {"multiclass": "first_two"}),
    ("relieff", {}),
    ("relieff", {"sigma": 2.0}),
    *(("informationgain", {"discretize": how}) for how in ("mdl", "weka", "mean_std", "none")),
    *(("mrmr", {"criterion": criterion}) for criterion in ("mid", "miq", "fcd", "fcq")),
]


def fitted(name: str, options: dict[str, Any], X: Any, y: Any) -> Any:
    """The filter; scores of MRMR are places in an order, and its relevance takes their place."""
    selector = get_selector(name, 3, **options).fit(X, y)
    selector.scores_ = getattr(selector, "relevance_", selector.scores_)
    return selector


def chosen(selector: Any) -> list[int]:
    return np.flatnonzero(selector.support_).tolist()


def two_numbers() -> tuple[np.ndarray, np.ndarray]:
    X, _ = unequal_classes()
    return X, np.column_stack([X[:, 0] + X[:, 1] ** 2, np.sin(X[:, 2])])


@pytest.mark.parametrize(
    ("name", "options", "made"),
    [
        *(
            (*setting, made)
            for setting in SETTINGS
            for made in (unequal_classes, labels_of_columns)
        ),
        *((name, {}, two_numbers) for name in ("fstatistic", "relieff", "mrmr")),
        ("mrmr", {"criterion": "fcd"}, two_numbers),
    ],
)
def test_order_units_storage_and_constant_columns_change_nothing(name, options, made):
    rng = np.random.default_rng(1)
    X, y = made()
    X[np.abs(X) < 0.4] = 0.0
    d = X.shape[1]
    plain = fitted(name, options, X, y)
    order = rng.permutation(d)
    permuted = fitted(name, options, X[:, order], y)
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], rtol=1e-9, atol=1e-12)
    assert sorted(order[chosen(permuted)]) == chosen(plain)
    same = [kind(X) for kind in (np.asfortranarray, sp.csr_array, sp.csc_matrix)]
    same.append(with_duplicates(X))
    same += [X * 2.0 ** np.linspace(-300, 300, d).round(), X * 1e-250]
    if options.get("discretize") != "none":
        same.append(X * rng.uniform(0.01, 100, d) + rng.uniform(-10, 10, d))
    for held in same:
        found = fitted(name, options, held, y)
        np.testing.assert_allclose(found.scores_, plain.scores_, rtol=1e-8, atol=1e-9)
        assert chosen(found) == chosen(plain)
    wider = fitted(name, options, np.insert(X, 2, 0.1, axis=1), y)
    assert wider.scores_[2] == 0.0
    np.testing.assert_allclose(np.delete(wider.scores_, 2), plain.scores_, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fstatistic", {"multilabel": "binary_relevance"}),
        ("fisherscore", {}),
        ("ttest", {}),
        ("ttest", {"equal_var": False}),
        ("informationgain", {}),
        ("relieff", {"multilabel": "binary_relevance"}),
        ("relieff", {"task": "regression"}),
    ],
)
def test_each_target_is_a_problem_of_its_own(name, options):
    X, Y = labels_of_columns()
    each = np.array([get_selector(name, 3, **options).fit(X, y).scores_ for y in Y.T])
    better = (each[:, None, :] > each[:, :, None]).sum(axis=2)
    expected = {
        "mean": each.mean(axis=0),
        "max": each.max(axis=0),
        "mean_rank": 1 / (1 + better.mean(axis=0)),
    }
    # A label that all samples have tells nothing, and is left out.
    if "task" not in options:
        Y = np.column_stack([Y, np.ones(len(Y), dtype=int)])
    for aggregate, scores in expected.items():
        found = get_selector(name, 3, aggregate=aggregate, **options).fit(X, Y)
        np.testing.assert_allclose(found.scores_, scores, rtol=1e-9, atol=1e-12)
