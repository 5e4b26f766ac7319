"""Load data by name: from the user's folder, else from a cache that is filled by download."""

from __future__ import annotations

import hashlib
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array
from rowsparse._mat import read_mat
from rowsparse.datasets.catalog import DatasetInfo, catalogue, dataset_info
from rowsparse.datasets.store import (
    CorruptDataError,
    Dataset,
    MissingDataError,
    described,
    read_dataset,
)

__all__ = ["BASE_URL", "FOLDER_VARIABLE", "load"]

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
