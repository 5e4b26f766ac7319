"""FIRDL: when its training ends and what it finds."""

import numpy as np
import pytest

from rowsparse import FIRDL

from ...deep.cases import PLANTED, SHORT_FIRDL, classes, problem

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def xor(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes in the eight corners of columns 0, 1, 2: no column says anything alone."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 8, n)
    signs = 1 - 2 * ((corner[:, None] >> np.arange(3)) & 1)
    X = rng.standard_normal((n, 10))
    X[:, :3] += signs
    # Opposite corners share a class.
    return X, np.minimum(corner, 7 - corner)


def test_training_ends_when_patience_does(torch):
    X, _ = classes()
    noise = np.random.default_rng(1).integers(0, 2, 60)
    options = SHORT_FIRDL | {"phase_two": 16, "patience": 32, "max_iter": 5000}
    selector = FIRDL(3, **options).fit(X, noise)
    assert selector.converged_
    assert selector.stopped_ == "patience"
    assert selector.n_iter_ % 16 == 0
    assert selector.history_.size == selector.n_iter_ // 16
    # The best validation loss is the last but patience / 16 checks, and one that was too many.
    assert np.argmin(selector.history_) == selector.history_.size - 4


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_firdl_finds_what_matters(torch, task):
    X, y = problem(task)
    selector = FIRDL(4, **SHORT_FIRDL).fit(X, y)
    assert selector.task_ == task
    assert len(set(PLANTED) & set(selector.get_support(indices=True))) >= 2
    assert np.isfinite(selector.validation_loss_)


@pytest.mark.parametrize(
    "options",
    [
        {"operator_hidden": ()},
        {"selector_hidden": ()},
        {"batch_size": 5},
        {"n_masks": 4},
        {"phase_two": 0},
        {"perturbations": 1},
        {"validation_fraction": 0.5},
        {"learning_rate": 0.1},
    ],
    ids=str,
)
def test_every_setting_of_firdl_counts(torch, options):
    X, y = classes()
    short = SHORT_FIRDL | {"max_iter": 32, "phase_two": 8}
    usual = FIRDL(3, **short).fit(X, y)
    changed = FIRDL(3, **(short | options)).fit(X, y)
    assert changed.support_.sum() == 3
    assert not np.array_equal(usual.scores_, changed.scores_)


@pytest.mark.slow
def test_firdl_finds_the_columns_of_an_exclusive_or(torch):
    X, y = xor(512, seed=1)
    selector = FIRDL(5, random_state=1).fit(X, y)
    assert selector.support_[:3].all()
    assert selector.scores_[:3].min() > 0 > selector.scores_[3:].max()
    # Chance is log(4) = 1.386.
    assert selector.validation_loss_ < 1.25
