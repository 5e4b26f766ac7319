"""Moments in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rowsparse import Moments

X = np.random.default_rng(0).standard_normal((30, 3))


@pytest.mark.parametrize(
    "y",
    [
        np.array(["b", "a", "c"] * 10, dtype=object),
        np.arange(30) % 2,
        X @ np.ones((3, 2)),
        X[:, 0],
        np.eye(3)[np.arange(30) % 3] + np.eye(3)[np.arange(30) % 2],
    ],
)
@pytest.mark.parametrize("products", [True, False])
def test_what_was_saved_is_loaded(y: Any, products: bool, tmp_path: Path) -> None:
    y = np.minimum(y, 1) if np.ndim(y) == 2 and y.shape[1] == 3 else y
    saved = Moments(products=products).update(pd.DataFrame(X, columns=list("abc")), y)
    saved.save(tmp_path / "moments.npz")
    loaded = Moments.load(tmp_path / "moments.npz")
    for name, value in vars(saved.statistics).items():
        np.testing.assert_array_equal(value, getattr(loaded.statistics, name))
    assert loaded.targets.task == saved.targets.task
    assert np.array_equal(loaded.feature_names, saved.feature_names)  # type: ignore[arg-type]
    # It goes on where it was.
    both = [m.update(X[:10], y[:10]).statistics.x_square for m in (saved, loaded)]
    np.testing.assert_array_equal(*both)


def test_files_that_hold_no_moments_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, X=X)
    with pytest.raises(ValueError, match=r"other\.npz holds no Moments"):
        Moments.load(path)
    Moments().update(X, X[:, 0]).save(path)
    arrays = dict(np.load(path))
    np.savez(path, **(arrays | {"xx": arrays["xx"][:2]}))
    with pytest.raises(ValueError, match="'xx' has the wrong shape"):
        Moments.load(path)
    np.savez(path, **(arrays | {"format": np.array(99)}))
    with pytest.raises(ValueError, match="another version"):
        Moments.load(path)


def test_classes_that_are_neither_text_nor_numbers_are_not_saved(tmp_path: Path) -> None:
    labels = np.empty(30, dtype=object)
    labels[:] = [(i % 2,) for i in range(30)]
    moments = Moments("classification").update(X, labels)
    with pytest.raises(ValueError, match="text or numbers"):
        moments.save(tmp_path / "moments.npz")
    assert not list(tmp_path.iterdir())
