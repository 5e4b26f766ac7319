"""From a name to the data: the folder, the cache and the download."""

import hashlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from rowsparse.datasets import (
    CorruptDataError,
    MissingDataError,
    catalog,
    dataset_info,
    fetch,
    load,
)

from .cases import DOWNLOADED, NAMES, one_sentence, pretend, small


def test_a_file_of_your_own_loads_under_its_own_name(folder):
    X, y = small()
    names = np.array(["a", "b", "c", "d"])
    np.savez(folder / "mine.npz", X=X, y=y, feature_names=names)
    data = load("mine")
    assert (data.name, data.task, data.info, data.target_names) == (
        "mine",
        "classification",
        None,
        None,
    )
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.feature_names, names)


def test_the_folder_comes_before_the_cache_and_the_same_values_raise_no_warning(
    folder, monkeypatch, recwarn
):
    X, y = small()
    info = pretend(monkeypatch, X, y)
    # Another type and memory order: the same values.
    np.savez(folder / f"{DOWNLOADED}.npz", X=np.asfortranarray(X, dtype=float), y=y.astype(int))
    data = load(DOWNLOADED, cache_dir="/nowhere", download=False)
    assert data.info is info
    assert data.X.dtype == np.float64
    assert not recwarn.list


def test_a_variable_that_names_no_folder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(MissingDataError, match=r"names '.*absent', which is not a folder"):
        load(DOWNLOADED)


@pytest.mark.parametrize("name", ["../secret", "a/b", "", "a b", None, 3])
def test_a_name_is_never_a_path(folder, name):
    with pytest.raises(ValueError, match="name must be the name of a data set"):
        load(name)


@pytest.mark.usefixtures("no_folder")
@pytest.mark.parametrize("name", [n for n in NAMES if not dataset_info(n).downloadable])
def test_a_set_without_download_says_where_to_get_it(name, tmp_path):
    with pytest.raises(MissingDataError) as error:
        load(name, cache_dir=tmp_path)
    message = str(error.value)
    info = dataset_info(name)
    assert one_sentence(error.value)
    assert info.origin in message
    assert f"{name}.npz" in message
    assert "ROWSPARSE_DATA" in message
    assert f"{info.n_samples} x {info.n_features}" in message


class Files(BaseHTTPRequestHandler):
    """Serves what ``server.files`` holds: a body, and the length that it claims to have."""

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path not in self.server.files:
            self.send_error(404)
            return
        body, claimed = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(claimed))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def serving() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.files, server.requests = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}/data/"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch) -> Iterator[ThreadingHTTPServer]:
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


def mat(X, labels) -> bytes:
    buffer = io.BytesIO()
    savemat(buffer, {"X": X, "Y": labels[:, None]})
    return buffer.getvalue()


@pytest.fixture
def offered(server, no_folder, monkeypatch):
    """A set whose original the server has; X, y and the body."""
    X, y = small()
    body = mat(X.astype(float), y + 1)
    original = catalog.Original("Some.mat", hashlib.sha256(body).hexdigest())
    pretend(monkeypatch, X, y, original=original)
    server.files["/data/Some.mat"] = (body, len(body))
    return X, y, body


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*")) if cache.exists() else []


def test_a_good_file_is_downloaded_and_cached(server, offered, tmp_path):
    X, y, _ = offered
    cache = tmp_path / "new" / "cache"
    data = load(DOWNLOADED, cache_dir=cache, base_url=server.url)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert (data.X.dtype, data.y.dtype) == (np.float32, np.int16)
    assert data.info is dataset_info(DOWNLOADED)
    assert kept(cache) == ["Some.mat"]
    again = load(DOWNLOADED, cache_dir=str(cache), download=False)
    np.testing.assert_array_equal(again.X, X)
    assert server.requests == ["/data/Some.mat"]


def test_a_damaged_or_another_file_in_the_cache_is_downloaded_again(server, offered, tmp_path):
    (tmp_path / "Some.mat").write_bytes(b"damaged")
    with pytest.raises(MissingDataError, match="neither in the folder"):
        load(DOWNLOADED, cache_dir=tmp_path, download=False)
    load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    assert (tmp_path / "Some.mat").read_bytes() == offered[2]
    (tmp_path / "Some.mat").write_bytes(mat(offered[0] + 1.0, offered[1] + 1))
    np.testing.assert_array_equal(
        load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url).X, offered[0]
    )
    assert len(server.requests) == 2


def test_an_original_put_into_the_cache_by_hand_is_used(offered, tmp_path):
    (tmp_path / "Some.mat").write_bytes(offered[2])
    data = load(DOWNLOADED, cache_dir=tmp_path, download=False)
    np.testing.assert_array_equal(data.X, offered[0])


@pytest.mark.parametrize(
    ("problem", "error", "words"),
    [
        ("another file", CorruptDataError, "was refused and not kept: its sha256"),
        ("cut at the source", CorruptDataError, "damaged or another file"),
        ("broken off", (MissingDataError, CorruptDataError), "broke off|its sha256 is not"),
        ("not there", MissingDataError, r"data/Some\.mat.*\(the server answered 404\)"),
        ("no address", MissingDataError, r"\(the address cannot be used\)"),
        ("no network", MissingDataError, r"\(there is no connection\).* ROWSPARSE_DATA"),
    ],
)
def test_a_download_that_fails_leaves_nothing_and_says_why(
    server, offered, tmp_path, problem, error, words
):
    X, y, body = offered
    other = mat(X + 1.0, y + 1)
    served = {
        "another file": (other, len(other)),
        "cut at the source": (body[:-10], len(body) - 10),
        "broken off": (body[: len(body) // 2], len(body)),
    }
    server.files.clear()
    if problem in served:
        server.files["/data/Some.mat"] = served[problem]
    with serving() as gone:
        url = {"no address": "nowhere", "no network": gone.url}.get(problem, server.url)
    with pytest.raises(error, match=words) as caught:
        load(DOWNLOADED, cache_dir=tmp_path, base_url=url)
    assert one_sentence(caught.value)
    assert kept(tmp_path) == []
    if problem == "no network":
        assert f"put Some.mat into {tmp_path} yourself" in str(caught.value)


@pytest.mark.usefixtures("no_folder")
def test_download_false_asks_no_server(server, offered, tmp_path):
    with pytest.raises(MissingDataError, match="pass download=True, or save X") as error:
        load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url, download=False)
    assert one_sentence(error.value)
    assert server.requests == []


@pytest.mark.usefixtures("no_folder")
def test_the_default_address_is_the_pinned_commit(monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")
    asked = []

    def retrieve(url, *, known_hash, **_):
        asked.append((url, known_hash))
        raise ConnectionError

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(MissingDataError, match="there is no connection"):
        load("prostate_ge", cache_dir=tmp_path)
    assert asked == [
        (
            "https://raw.githubusercontent.com/jundongl/scikit-feature/"
            "48cffad4e88ff4b9d2f1c7baffb314d1b3303792/skfeature/data/Prostate-GE.mat",
            "sha256:050b598534dbc662f23e30f39b41354b61d02ab8567837bcf9b1091c1c636ab4",
        )
    ]


def test_the_default_cache_is_the_users(offered, monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    (tmp_path / "rowsparse").mkdir()
    (tmp_path / "rowsparse" / "Some.mat").write_bytes(offered[2])
    assert load(DOWNLOADED, download=False).info is dataset_info(DOWNLOADED)


@pytest.mark.usefixtures("no_folder")
def test_without_pooch_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    for options in ({}, {"cache_dir": tmp_path}):
        with pytest.raises(ImportError, match=r'needs pooch: pip install "rowsparse\[data\]"'):
            load(DOWNLOADED, **options)
    for options in ({}, {"cache_dir": tmp_path}):
        with pytest.raises(MissingDataError, match="pass download=True"):
            load(DOWNLOADED, download=False, **options)


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_matrix])
@pytest.mark.parametrize("labels", [[1, 2, 3, 1], [-1.0, 0.0, 7.0, -1.0]])
def test_a_mat_file_becomes_integers_and_class_numbers_from_zero(tmp_path, kind, labels):
    X = np.array([[0.0, 255.0], [3.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    path = tmp_path / "some.mat"
    path.write_bytes(mat(kind(X), np.array(labels)))
    converted, y = fetch._from_mat(path, replace(dataset_info("basehock"), dtype="uint8"))
    np.testing.assert_array_equal(converted, X)
    assert converted.dtype == np.uint8
    assert (y.tolist(), y.dtype) == ([0, 1, 2, 0], np.int16)
