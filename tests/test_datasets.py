"""Benchmark sets: the catalogue, the user's folder, the cache, and the download."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from rowsparse import datasets
from rowsparse.datasets import (
    CorruptDataError,
    MissingDataError,
    catalog,
    dataset_info,
    fetch,
    list_datasets,
    load,
    page,
    store,
)

NAMES = [info.name for info in list_datasets()]
HAND_MADE = "srbct"
DOWNLOADED = "glioma"
ROOT = Path(__file__).parent.parent


def one_sentence(error: BaseException) -> bool:
    return str(error).endswith((".", "?")) and "\n" not in str(error)


# ---------------------------------------------------------------------------- the catalogue
def test_the_catalogue_has_the_34_sets_and_15_of_them_can_be_downloaded():
    assert len(NAMES) == len(set(NAMES)) == 34
    originals = [info.original for info in list_datasets() if info.original]
    assert len({original.file for original in originals}) == 15
    assert {info.downloadable for info in list_datasets()} == {True, False}
    for digest in [o.sha256 for o in originals] + [i.sha256 for i in list_datasets()]:
        assert re.fullmatch("[0-9a-f]{64}", digest)


@pytest.mark.parametrize("info", list_datasets(), ids=NAMES)
def test_every_entry_is_complete_and_consistent(info):
    assert info.task in catalog.TASKS
    assert info.role in ("paper", "variant", "stand-in", "extra")
    assert (info.role == "paper") == bool(info.papers)
    assert set(info.papers) <= set(catalog.papers())
    assert info.citation
    assert info.licence
    assert re.match(r"(derived from )?[\w.-]+/[\w.-]+, ", info.origin)
    assert info.n_classes == len(info.class_sizes) >= 2
    if info.task == "classification":
        assert sum(info.class_sizes) == info.n_samples
    if info.class_names:
        assert len(info.class_names) == info.n_classes
    assert (info.image_shape is None) == (info.image_order is None)
    if info.image_shape:
        assert info.image_shape[0] * info.image_shape[1] == info.n_features
    for other in info.same_samples:
        assert info.name in dataset_info(other).same_samples
    if info.original:
        assert info.origin == f"jundongl/scikit-feature, skfeature/data/{info.original.file}"


def test_no_entry_of_the_file_is_misspelt():
    known = {field.name for field in fields(catalog.DatasetInfo)}
    text = (Path(catalog.__file__).parent / "catalog.toml").read_text(encoding="utf-8")
    for facts in tomllib.loads(text)["dataset"]:
        assert set(facts) <= known


def test_sets_are_listed_by_task_and_by_paper():
    assert {i.name for i in list_datasets(task="multilabel")} == {
        "scene", "yeast", "emotions", "birds", "cal500", "corel5k",
    }  # fmt: skip
    assert [i.name for i in list_datasets("classification", "Nie 2010")] == [
        "allaml", "lung", "carcinom", "glioma", "prostate_ge",
    ]  # fmt: skip


def test_wrong_filters_are_refused():
    with pytest.raises(ValueError, match="task must be one of 'classification', 'multilabel'"):
        list_datasets(task="regression")
    with pytest.raises(ValueError, match="paper must be one of 'Nie 2010'"):
        list_datasets(paper="Nie")


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(ValueError, match="no data set 'GLIOMAS': did you mean 'glioma'"):
        dataset_info("GLIOMAS")
    with pytest.raises(ValueError, match="no data set 'qqq': see list_datasets"):
        load("qqq")
    with pytest.raises(TypeError, match="name must be the name of a data set; got 3"):
        dataset_info(3)


def test_the_page_is_up_to_date():
    path = ROOT / "docs" / "datasets.md"
    command = "python -m rowsparse.datasets.page docs/datasets.md"
    text = path.read_text(encoding="utf-8")
    assert page.updated(text) == text, f"run {command}"
    assert all(f"| `{name}` |" in text for name in NAMES)


def test_the_page_is_brought_up_to_date_by_its_command(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    command = [sys.executable, "-m", "rowsparse.datasets.page", str(path)]
    subprocess.run(command, check=True)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text.partition("### Sizes")[0]
    assert page.tables() in text


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="the page has no marks"):
        page.updated("nothing here")


def test_the_catalogue_is_read_without_sklearn_and_pooch():
    script = (
        "import sys; from rowsparse.datasets import list_datasets; list_datasets();"
        "print(sorted({'sklearn', 'pooch', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_package_shows_its_public_names_and_no_others():
    assert set(datasets.__all__) <= set(dir(datasets))
    assert all(getattr(datasets, name) is not None for name in datasets.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        datasets.nothing


# ----------------------------------------------------------------------- the user's folder
@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(path))
    return path


@pytest.fixture
def no_folder(monkeypatch) -> None:
    monkeypatch.delenv(fetch.FOLDER_VARIABLE, raising=False)


def small(n=6, d=4, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return X, np.arange(n, dtype=np.int16) % 2


def pretend(monkeypatch, X, y, **changes):
    """Let the catalogue describe X and y under the name of a downloadable set."""
    info = dataset_info(DOWNLOADED)
    changes = {"dtype": str(X.dtype), "sha256": store.fingerprint(X, y, str(X.dtype))} | changes
    described = replace(
        info, n_samples=X.shape[0], n_features=X.shape[1], class_sizes=(3, 3), **changes
    )
    monkeypatch.setitem(catalog.catalogue(), DOWNLOADED, described)
    return described


@pytest.mark.parametrize("name", NAMES)
def test_what_is_in_the_folder_is_what_the_catalogue_says(name):
    if not os.environ.get(fetch.FOLDER_VARIABLE):
        pytest.skip(f"data set {name}: ROWSPARSE_DATA is not set")
    try:
        data = load(name, download=False)
    except MissingDataError as missing:
        pytest.skip(f"data set {name}: {missing}")
    info = dataset_info(name)
    assert data.info is info, "the values are not those of the catalogue"
    assert data.X.shape == (info.n_samples, info.n_features)
    assert data.X.dtype == info.dtype
    sizes = np.bincount(data.y) if info.task == "classification" else data.y.sum(axis=0)
    assert tuple(sizes.tolist()) == info.class_sizes
    assert data.target_names == (info.class_names or None)


def test_a_file_of_your_own_loads_under_its_own_name(folder):
    X, y = small()
    names = np.array(["a", "b", "c", "d"])
    np.savez(folder / "mine.npz", X=X, y=y, feature_names=names)
    data = load("mine")
    assert (data.name, data.task, data.info, data.target_names) == (
        "mine", "classification", None, None,
    )  # fmt: skip
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.feature_names, names)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(list("abcabc")), "classification"),
        (np.eye(6, 3, dtype=np.uint8), "multilabel"),
        (np.linspace(0, 1, 6), "regression"),
    ],
)
def test_a_file_of_your_own_may_have_any_targets(folder, y, task):
    np.savez(folder / "mine.npz", X=small()[0], y=y)
    assert load("mine").task == task


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


@pytest.mark.parametrize("y", [np.array([1, 0, 0, 1, 0, 1]), np.array(list("ababab"))])
def test_other_values_under_a_known_name_are_yours_with_a_warning(folder, y):
    np.savez(folder / f"{DOWNLOADED}.npz", X=small()[0], y=y)
    with pytest.warns(UserWarning, match="does not hold the values that the catalogue") as caught:
        data = load(DOWNLOADED)
    assert data.info is None
    assert data.name == DOWNLOADED
    assert len(caught) == 1
    assert caught[0].filename == __file__


def truncated_npz() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=small()[0], y=small()[1])
    return buffer.getvalue()[:-60]


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, small()[0])
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"not a zip file", b"PK\x03\x04 and no more", truncated_npz(), npy()]
)
def test_a_damaged_file_is_refused_in_one_sentence(folder, content):
    (folder / "mine.npz").write_bytes(content)
    words = r"mine\.npz is not an NPZ file"
    with pytest.raises(CorruptDataError, match=words) as error:
        load("mine")
    assert one_sentence(error.value)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": small()[0]}, "must be an npz file with the arrays X and y"),
        ({"X": small()[0], "y": small()[1][:5]}, "a row for each of the 6 samples"),
        ({"X": small()[0][0], "y": small()[1]}, "X must be a numeric array of samples x features"),
        ({"X": small()[0].astype(str), "y": small()[1]}, "X must be a numeric array"),
        ({"X": small()[0].astype(object), "y": small()[1]}, "holds Python objects"),
        ({"X": small()[0], "y": np.zeros(6, dtype=int)}, "y has only one class"),
        (
            {"X": small()[0], "y": small()[1], "feature_names": np.array(["a"])},
            "a name for each column",
        ),
    ],
)
def test_a_file_with_wrong_arrays_is_refused_in_one_sentence(folder, arrays, words):
    np.savez(folder / "mine.npz", **arrays)
    with pytest.raises(CorruptDataError, match=words) as error:
        load("mine")
    assert one_sentence(error.value)
    assert "mine.npz" in str(error.value)


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


# ------------------------------------------------------------------------------ the images
def test_images_stand_upright_in_either_order():
    image = np.arange(6.0).reshape(2, 3)
    info = replace(dataset_info("umist"), image_shape=(2, 3))
    for order in "CF":
        X = np.stack([image.ravel(order=order), 10 + image.ravel(order=order)])
        y = np.array([0, 1])
        data = store.Dataset(X, y, "x", "classification", info=replace(info, image_order=order))
        np.testing.assert_array_equal(data.images, [image, 10 + image])


def test_images_of_what_has_none_are_refused():
    X, y = small()
    for info in (None, dataset_info("glioma")):
        with pytest.raises(ValueError, match="x: the features are not known to be pixels"):
            store.Dataset(X, y, "x", "classification", info=info).images


def images_of(name: str) -> np.ndarray:
    if not os.environ.get(fetch.FOLDER_VARIABLE):
        pytest.skip(f"data set {name}: ROWSPARSE_DATA is not set")
    return load(name, download=False).images.astype(float)


@pytest.mark.parametrize("name", [i.name for i in list_datasets() if i.image_shape])
def test_neighbouring_pixels_are_alike_which_they_are_not_in_a_wrong_shape(name):
    images = images_of(name)[:100]
    assert images.shape[1:] == dataset_info(name).image_shape
    across = np.abs(np.diff(images, axis=2)).mean()
    down = np.abs(np.diff(images, axis=1)).mean()
    flat = images.reshape(-1)
    anywhere = np.abs(flat - np.random.default_rng(0).permutation(flat)).mean()
    # In the other order the sets that are not square have 0.59 to 0.81.
    assert max(across, down) < 0.55 * anywhere


@pytest.mark.parametrize("name", ["jaffe", "yale", "orl", "msra25", "pixraw10p"])
def test_faces_are_symmetric_from_left_to_right(name):
    face = images_of(name).mean(axis=0)
    mirrored, overturned = (
        np.corrcoef(face.ravel(), f.ravel())[0, 1] for f in (face[:, ::-1], face[::-1])
    )
    assert mirrored > overturned + 0.1


@pytest.mark.parametrize("name", ["usps", "mnist_t10k"])
def test_the_digit_one_is_a_stroke_from_top_to_bottom(name):
    images = images_of(name)
    one = images[load(name).y == 1].mean(axis=0)
    assert np.ptp(one.sum(axis=0)) > 2 * np.ptp(one.sum(axis=1))


# ---------------------------------------------------------------------------- the download
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


def test_a_good_file_is_downloaded_converted_and_cached(server, offered, tmp_path):
    X, y, _ = offered
    cache = tmp_path / "new" / "cache"
    data = load(DOWNLOADED, cache_dir=cache, base_url=server.url)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert (data.X.dtype, data.y.dtype) == (np.float32, np.int16)
    assert data.info is dataset_info(DOWNLOADED)
    assert kept(cache) == ["Some.mat", f"{DOWNLOADED}.npz"]
    assert server.requests == ["/data/Some.mat"]


def test_a_cached_set_needs_no_server(server, offered, tmp_path):
    load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    again = load(DOWNLOADED, cache_dir=str(tmp_path), download=False)
    np.testing.assert_array_equal(again.X, offered[0])
    assert len(server.requests) == 1


def test_a_damaged_npz_in_the_cache_is_made_again_from_the_original(server, offered, tmp_path):
    load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    (tmp_path / f"{DOWNLOADED}.npz").write_bytes(b"damaged")
    again = load(DOWNLOADED, cache_dir=tmp_path, download=False)
    np.testing.assert_array_equal(again.X, offered[0])
    assert len(server.requests) == 1


def test_a_damaged_original_in_the_cache_is_downloaded_again(server, offered, tmp_path):
    (tmp_path / "Some.mat").write_bytes(b"damaged")
    with pytest.raises(MissingDataError, match="neither in the folder"):
        load(DOWNLOADED, cache_dir=tmp_path, download=False)
    load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    assert (tmp_path / "Some.mat").read_bytes() == offered[2]


@pytest.mark.parametrize("kept_original", [True, False])
def test_another_set_in_the_cache_is_replaced(server, offered, kept_original, tmp_path):
    load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    store.write_dataset(tmp_path / f"{DOWNLOADED}.npz", offered[0] + 1, offered[1])
    if not kept_original:
        (tmp_path / "Some.mat").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
        again = load(DOWNLOADED, cache_dir=tmp_path, download=False)
    np.testing.assert_array_equal(data.X, offered[0])
    np.testing.assert_array_equal(again.X, offered[0])
    assert data.info is dataset_info(DOWNLOADED)
    assert len(server.requests) == (1 if kept_original else 2)


def test_another_set_in_the_cache_that_cannot_be_replaced_is_not_used(server, offered, tmp_path):
    store.write_dataset(tmp_path / f"{DOWNLOADED}.npz", offered[0] + 1, offered[1])
    server.files.clear()
    for options in ({"download": False}, {"base_url": server.url}):
        with pytest.raises(MissingDataError, match=DOWNLOADED) as error:
            load(DOWNLOADED, cache_dir=tmp_path, **options)
        assert one_sentence(error.value)


def test_an_original_put_into_the_cache_by_hand_is_used(offered, tmp_path):
    (tmp_path / "Some.mat").write_bytes(offered[2])
    data = load(DOWNLOADED, cache_dir=tmp_path, download=False)
    np.testing.assert_array_equal(data.X, offered[0])


def test_a_file_with_another_checksum_is_refused_and_nothing_is_kept(server, offered, tmp_path):
    X, y, _ = offered
    other = mat(X + 1.0, y + 1)
    server.files["/data/Some.mat"] = (other, len(other))
    with pytest.raises(CorruptDataError, match="was refused and not kept: its sha256") as error:
        load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    assert one_sentence(error.value)
    assert kept(tmp_path) == []


def test_a_transfer_that_breaks_off_leaves_nothing(server, offered, tmp_path):
    body = offered[2]
    server.files["/data/Some.mat"] = (body[: len(body) // 2], len(body))
    with pytest.raises((MissingDataError, CorruptDataError)) as error:
        load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    assert one_sentence(error.value)
    assert re.search(r"\(the transfer broke off\)|its sha256 is not", str(error.value))
    assert kept(tmp_path) == []


def test_a_file_that_was_cut_at_the_source_leaves_nothing(server, offered, tmp_path):
    body = offered[2][:-10]
    server.files["/data/Some.mat"] = (body, len(body))
    with pytest.raises(CorruptDataError, match="damaged or another file"):
        load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    assert kept(tmp_path) == []


def test_a_file_that_the_server_does_not_have_is_named(server, offered, tmp_path):
    server.files.clear()
    with pytest.raises(MissingDataError, match="the server answered 404") as error:
        load(DOWNLOADED, cache_dir=tmp_path, base_url=server.url)
    assert server.url + "Some.mat" in str(error.value)
    assert one_sentence(error.value)
    assert kept(tmp_path) == []


def test_without_network_one_sentence_says_what_to_do(server, offered, tmp_path):
    with serving() as gone:
        url = gone.url
    with pytest.raises(MissingDataError, match=r"\(there is no connection\)") as error:
        load(DOWNLOADED, cache_dir=tmp_path, base_url=url)
    message = str(error.value)
    assert one_sentence(error.value)
    assert f"put Some.mat into {tmp_path} yourself" in message
    assert "ROWSPARSE_DATA" in message
    assert kept(tmp_path) == []


def test_an_address_that_is_none_is_refused_in_one_sentence(offered, tmp_path):
    with pytest.raises(MissingDataError, match=r"\(the address cannot be used\)") as error:
        load(DOWNLOADED, cache_dir=tmp_path, base_url="nowhere")
    assert one_sentence(error.value)


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


@pytest.mark.usefixtures("no_folder")
def test_the_default_cache_is_the_users(monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")
    X, y = small()
    info = pretend(monkeypatch, X, y)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    store.write_dataset(tmp_path / "rowsparse" / f"{DOWNLOADED}.npz", X, y)
    assert load(DOWNLOADED, download=False).info is info


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


def test_the_fingerprint_depends_on_values_and_shapes_alone():
    X, y = small()
    same = store.fingerprint(np.asfortranarray(X.astype(float)), y.astype(np.int64), "float32")
    assert same == store.fingerprint(X, y, "float32")
    other = X.copy()
    other[0, 0] += 1e-6
    for changed in ((other, y), (X, 1 - y), (X.reshape(3, 8), y), (X[:, ::-1], y)):
        assert store.fingerprint(*changed, "float32") != same
    by_hand = hashlib.sha256(b"(1, 2)" + bytes([1, 2]) + b"(1,)" + bytes([3, 0])).hexdigest()
    assert store.fingerprint(np.array([[1, 2]]), np.array([3]), "uint8") == by_hand
