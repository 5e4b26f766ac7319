"""The catalogue: complete, consistent, and true of the data where they are at hand."""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from rowsparse.datasets import MissingDataError, catalog, dataset_info, fetch, list_datasets, load

from .cases import NAMES


def test_the_catalogue_has_the_34_sets_and_15_of_them_can_be_downloaded():
    assert len(NAMES) == len(set(NAMES)) == 34
    originals = [info.original for info in list_datasets() if info.original]
    assert len({original.file for original in originals}) == 15
    assert {info.downloadable for info in list_datasets()} == {True, False}
    for digest in [o.sha256 for o in originals] + [i.sha256 for i in list_datasets()]:
        assert re.fullmatch("[0-9a-f]{64}", digest)


def test_every_entry_is_complete_and_consistent():
    for info in list_datasets():
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
        "scene",
        "yeast",
        "emotions",
        "birds",
        "cal500",
        "corel5k",
    }
    assert [i.name for i in list_datasets("classification", "Nie 2010")] == [
        "allaml",
        "lung",
        "carcinom",
        "glioma",
        "prostate_ge",
    ]


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


def test_the_catalogue_is_read_without_sklearn_and_pooch():
    script = (
        "import sys; from rowsparse.datasets import list_datasets; list_datasets();"
        "print(sorted({'sklearn', 'pooch', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


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
