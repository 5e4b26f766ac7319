"""A data set, and the files that hold one: ``<name>.npz`` with X, y and perhaps names."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse._files import UnreadableFileError
from rowsparse._npz import read_npz
from rowsparse.datasets.catalog import DatasetInfo

__all__ = [
    "CorruptDataError",
    "Dataset",
    "MissingDataError",
    "described",
    "fingerprint",
    "read_dataset",
]

_NUMERIC_KINDS = "biuf"


class MissingDataError(OSError):
    """A data set that is not on this machine and cannot be downloaded."""


class CorruptDataError(ValueError):
    """A file that is damaged, or not the data set that it should be."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, as distributed: nothing is scaled.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        The features; often integers or float32.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Class numbers from 0, or label indicators.
    name : str
        What it was loaded as.
    task : {"classification", "multilabel", "regression"}
        What y is; regression only in files of your own.
    feature_names : array of str or None
        Names of the columns of X.
    target_names : tuple of str or None
        Names of the classes or labels.
    info : DatasetInfo or None
        What the catalogue knows of it; None for files of your own.
    """

    X: Array
    y: Array
    name: str
    task: str
    feature_names: Array | None = None
    target_names: tuple[str, ...] | None = None
    info: DatasetInfo | None = None

    @property
    def images(self) -> Array:
        """The samples as upright images, of shape (n_samples, height, width)."""
        if self.info is None or self.info.image_shape is None:
            raise ValueError(f"{self.name}: the features are not known to be pixels.")
        height, width = self.info.image_shape
        if self.info.image_order == "F":
            return self.X.reshape(-1, width, height).transpose(0, 2, 1)
        return self.X.reshape(-1, height, width)


def read_dataset(path: Path, info: DatasetInfo | None = None) -> Dataset:
    """Read an npz file.

    A file that is not the set that ``info`` describes is taken as the user's own, with a warning.
    """
    X, y, names = _checked_arrays(path)
    if info is not None and _holds(X, y, info):
        return described(X, y, info, names)
    if info is not None:
        warnings.warn(
            f"{path} does not hold the values that the catalogue has for {info.name}: it is taken "
            "as a set of your own.",
            UserWarning,
            stacklevel=3,
        )
    return Dataset(X, y, path.stem, _task(path, y), names)


def described(X: Array, y: Array, info: DatasetInfo, feature_names: Array | None = None) -> Dataset:
    """A set of the catalogue."""
    return Dataset(X, y, info.name, info.task, feature_names, info.class_names or None, info)


def fingerprint(X: Array, y: Array, dtype: str) -> str:
    """sha256 of shapes and values: X in ``dtype``, y in int16, row by row, little-endian.

    However a file was compressed, and whether it holds float32 or float64, the same data have
    the same fingerprint.
    """
    digest = hashlib.sha256()
    with np.errstate(all="ignore"):  # values out of range change the digest anyway
        for array, kind in ((X, dtype), (y, "int16")):
            digest.update(repr(array.shape).encode())
            stored = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
            digest.update(stored.data)
    return digest.hexdigest()


def _holds(X: Array, y: Array, info: DatasetInfo) -> bool:
    return y.dtype.kind in _NUMERIC_KINDS and fingerprint(X, y, info.dtype) == info.sha256


def _checked_arrays(path: Path) -> tuple[Array, Array, Array | None]:
    try:
        arrays, _ = read_npz(path, ("X", "y", "feature_names"))
    except UnreadableFileError as error:
        raise CorruptDataError(f"{path} {error}") from None
    if "X" not in arrays or "y" not in arrays:
        raise CorruptDataError(f"{path} must be an npz file with the arrays X and y.")
    X, y, names = arrays["X"], arrays["y"], arrays.get("feature_names")
    if X.ndim != 2 or X.dtype.kind not in _NUMERIC_KINDS:
        raise CorruptDataError(f"{path}: X must be a numeric array of samples x features.")
    if y.ndim not in (1, 2) or y.shape[0] != X.shape[0]:
        raise CorruptDataError(
            f"{path}: y must have a row for each of the {X.shape[0]} samples; it has the shape "
            f"{y.shape}."
        )
    if names is not None and names.shape != X.shape[1:]:
        raise CorruptDataError(f"{path}: feature_names must have a name for each column of X.")
    return X, y, names


def _task(path: Path, y: Any) -> str:
    from rowsparse.targets import encode_targets

    try:
        return encode_targets(y, "auto").task
    except ValueError as error:
        raise CorruptDataError(f"{path}: {error}") from None
