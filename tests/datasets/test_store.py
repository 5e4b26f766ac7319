"""Data sets in npz files: what is read, and what is refused."""

import hashlib
import io
from dataclasses import replace

import numpy as np
import pytest

from rowsparse.datasets import CorruptDataError, dataset_info, fetch, load

from .cases import DOWNLOADED, one_sentence, small


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
    words = r"mine\.npz (is not an NPZ file|cannot be read as NPZ)"
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


def test_images_stand_upright_in_either_order():
    image = np.arange(6.0).reshape(2, 3)
    info = replace(dataset_info("umist"), image_shape=(2, 3))
    for order in "CF":
        X = np.stack([image.ravel(order=order), 10 + image.ravel(order=order)])
        y = np.array([0, 1])
        data = fetch.Dataset(X, y, "x", "classification", info=replace(info, image_order=order))
        np.testing.assert_array_equal(data.images, [image, 10 + image])


def test_images_of_what_has_none_are_refused():
    X, y = small()
    for info in (None, dataset_info("glioma")):
        with pytest.raises(ValueError, match="x: the features are not known to be pixels"):
            fetch.Dataset(X, y, "x", "classification", info=info).images


def test_the_fingerprint_depends_on_values_and_shapes_alone():
    X, y = small()
    same = fetch.fingerprint(np.asfortranarray(X.astype(float)), y.astype(np.int64), "float32")
    assert same == fetch.fingerprint(X, y, "float32")
    other = X.copy()
    other[0, 0] += 1e-6
    for changed in ((other, y), (X, 1 - y), (X.reshape(3, 8), y), (X[:, ::-1], y)):
        assert fetch.fingerprint(*changed, "float32") != same
    by_hand = hashlib.sha256(b"(1, 2)" + bytes([1, 2]) + b"(1,)" + bytes([3, 0])).hexdigest()
    assert fetch.fingerprint(np.array([[1, 2]]), np.array([3]), "uint8") == by_hand
