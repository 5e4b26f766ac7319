"""Data sets by name: from the user's folder, else from a cache that is filled by download."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array
from rowsparse._files import UnreadableFileError
from rowsparse._mat import read_mat
from rowsparse._npz import read_npz
from rowsparse.datasets.catalog import DatasetInfo, catalogue, dataset_info

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


FOLDER_VARIABLE = "ROWSPARSE_DATA"
COMMIT = "48cffad4e88ff4b9d2f1c7baffb314d1b3303792"
BASE_URL = f"https://raw.githubusercontent.com/jundongl/scikit-feature/{COMMIT}/skfeature/data/"
# Seconds to wait for the server, not for the whole file.
_PATIENCE = 30

# Reasons by the class name of the error of requests, a dependency of pooch.
_REASONS = {
    "Timeout": "the server did not answer in time",
    "ChunkedEncodingError": "the transfer broke off",
    "ConnectionError": "there is no connection",
    "RequestException": "the address cannot be used",
}


def load(
    name: str,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    download: bool = True,
) -> Dataset:
    """Load a benchmark set, or a file of your own, by name.

    The first of these that has it:

    1. ``<name>.npz`` in the folder that the environment variable ``ROWSPARSE_DATA`` names, with
       ``X`` (samples x features), ``y`` (class numbers, a samples x labels indicator array, or
       numbers) and perhaps ``feature_names``. The name need not be in the catalogue. A file
       under the name of a benchmark set but with other values is taken as your own, with a
       warning.
    2. The cache. The sets of the scikit-feature repository are downloaded into it at a fixed
       commit, and kept as distributed (``.mat``). A file whose sha256 is not the one of the
       catalogue is refused, and one in the cache is fetched again.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`, or a file in your folder.
    cache_dir : path, optional
        The cache; by default the one of your user for this package.
    base_url : str, optional
        Where the files of scikit-feature are, if not on GitHub: a mirror.
    download : bool, default=True
        Whether to download what is neither in the folder nor in the cache.

    Returns
    -------
    Dataset
        As distributed, not scaled.

    Raises
    ------
    ValueError
        If no set has that name.
    MissingDataError
        If the set is not here and cannot be downloaded; the message says where to get it.
    CorruptDataError
        If a file is damaged, or what was downloaded is not the file of the catalogue.
    ImportError
        If pooch is not installed and a download is needed.

    Examples
    --------
    >>> from rowsparse.datasets import load
    >>> data = load("glioma")  # doctest: +SKIP
    >>> data.X.shape, data.task  # doctest: +SKIP
    ((50, 4434), 'classification')
    """
    path = _in_folder(name)
    if path is not None:
        return read_dataset(path, catalogue().get(name))
    info = dataset_info(name)
    if info.original is None:
        raise MissingDataError(
            f"{name} has no download: from its public copy on GitHub ({info.origin}) "
            f"{_by_hand(info)}."
        )
    path = _cache(info, cache_dir, download) / info.original.file
    if not _has_sha256(path, info.original.sha256):
        if not download:
            raise _not_here(info)
        _download(info, path, info.original.sha256, base_url or BASE_URL)
    return described(*_from_mat(path, info), info)


# ------------------------------------------------------------------------------ the folder
def _in_folder(name: str) -> Path | None:
    """The file of that name in the user's folder, if there is one."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(
            f"name must be the name of a data set, of letters, digits and . _ -; got {name!r}."
        )
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise MissingDataError(
            f"The environment variable {FOLDER_VARIABLE} names {folder!r}, which is not a folder."
        )
    path = Path(folder) / f"{name}.npz"
    return path if path.exists() else None


def _by_hand(info: DatasetInfo) -> str:
    what = "class numbers from 0" if info.task == "classification" else "a 0/1 array of labels"
    return (
        f"save X ({info.n_samples} x {info.n_features}) and y ({what}) with numpy.savez as "
        f"{info.name}.npz in the folder that the environment variable {FOLDER_VARIABLE} names"
    )


def _not_here(info: DatasetInfo) -> MissingDataError:
    return MissingDataError(
        f"{info.name} is neither in the folder {FOLDER_VARIABLE} nor, whole, in the cache: pass "
        f"download=True, or {_by_hand(info)}."
    )


# ---------------------------------------------------------------------------- the download
def _pooch() -> Any:
    try:
        return import_module("pooch")
    except ImportError:
        raise ImportError('Downloading data needs pooch: pip install "rowsparse[data]".') from None


def _cache(info: DatasetInfo, cache_dir: str | os.PathLike[str] | None, download: bool) -> Path:
    if cache_dir is not None:
        return Path(cache_dir).expanduser()
    try:
        return Path(_pooch().os_cache("rowsparse"))
    except ImportError:
        if download:
            raise
        raise _not_here(info) from None


def _has_sha256(path: Path, sha256: str) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def _download(info: DatasetInfo, path: Path, sha256: str, base_url: str) -> None:
    """Fetch the file ``path.name`` into its folder; one with another sha256 is not kept."""
    pooch = _pooch()
    url = f"{base_url.rstrip('/')}/{path.name}"
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{sha256}",
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=_PATIENCE),
        )
    except OSError as error:
        raise MissingDataError(
            f"{info.name} could not be fetched from {url} ({_reason(error)}): put {path.name} "
            f"into {path.parent} yourself, or {_by_hand(info)}."
        ) from error
    except ValueError:
        raise CorruptDataError(
            f"{url} was refused and not kept: its sha256 is not {sha256}, so it is damaged or "
            "another file."
        ) from None


def _reason(error: OSError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code}"
    kinds = {kind.__name__ for kind in type(error).__mro__}
    known = next((reason for kind, reason in _REASONS.items() if kind in kinds), None)
    return known or error.strerror or type(error).__name__


def _from_mat(path: Path, info: DatasetInfo) -> tuple[Array, Array]:
    """X as distributed and y as class numbers from 0, of a file of scikit-feature."""
    stored, _ = read_mat(path, ("X", "Y"))
    X = stored["X"].toarray() if sp.issparse(stored["X"]) else stored["X"]
    _, y = np.unique(np.ravel(stored["Y"]), return_inverse=True)
    return X.astype(info.dtype), y.astype(np.int16)
