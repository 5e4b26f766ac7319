"""Saved models: read back exactly, and clear about tables that they cannot be applied to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.linear_model import LinearModel
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.model import SavedColumn, SavedFeature, SavedModel
from rowsparse.workflow.table import Table

from .planted import selected

# The second class if age + [sex is m] > 40.
MODEL = SavedModel(
    method="TopK",
    task="classification",
    targets=("goal",),
    classes=(3, 7),
    guess=(0.0,),
    identifiers=("id",),
    columns=(SavedColumn("age"), SavedColumn("sex", ("f", "m"), "f")),
    features=(
        SavedFeature("age", "age", None, 40.0, 2.0),
        SavedFeature("sex=m", "sex", "m", 0.0, 1.0),
    ),
    judge=LinearModel("linear SVM", "sign", np.array([[2.0, 1.0]]), np.array([-0.5])),
)
FRAME = pl.DataFrame({"sex": ["m", "f", None, "m"], "more": [0, 0, 0, 0], "age": [40, 40, 41, 39]})


def test_features_are_found_by_name_encoded_and_filled() -> None:
    np.testing.assert_array_equal(MODEL.transform(FRAME), [[40, 1], [40, 0], [41, 0], [39, 1]])
    assert MODEL.predict(FRAME).tolist() == [7, 3, 7, 3]
    assert MODEL.check_columns(FRAME) == ("more",)


def test_pandas_frames_and_files_are_the_same(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({name: FRAME[name].to_list() for name in FRAME.columns})
    FRAME.write_csv(tmp_path / "new.csv")
    FRAME.write_parquet(tmp_path / "new.parquet")
    for table in (frame, tmp_path / "new.csv", str(tmp_path / "new.parquet")):
        assert MODEL.predict(table).tolist() == [7, 3, 7, 3]


def test_a_selection_transforms_its_own_table_into_the_selected_columns(
    labels: Table, tmp_path: Path
) -> None:
    result = selected(labels, 4, cv=0, stability=0)
    at = [feature.index for feature in result.features]
    np.testing.assert_array_equal(result.model.transform(labels.path), labels.X[:, at])
    assert result.model.predict(labels.path).shape == (80, 3)


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (
            FRAME.drop("age"),
            "The data frame lacks 1 of the 2 columns of the model: 'age'; it has 'more', which "
            "the model does not use.",
        ),
        (FRAME.drop("age", "sex"), "lacks 2 of the 2 columns of the model: 'age' and"),
        (FRAME.head(0), "The data frame has no rows."),
        (
            FRAME.with_columns(age=pl.lit("<40")),
            "Column 'age' holds text such as '<40'; the model needs numbers.",
        ),
        (
            FRAME.with_columns(age=pl.Series([1.0, None, None, 2.0])),
            "Column 'age' has 2 missing values: fill them first, or select again with "
            "impute='median'.",
        ),
        (
            FRAME.with_columns(sex=pl.lit("x")),
            "Column 'sex' holds 'x', which the model does not know: it was made from 'f' and 'm'.",
        ),
    ],
)
def test_other_tables_are_refused_in_one_sentence(frame: pl.DataFrame, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        MODEL.predict(frame)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_is_read_back_exactly(tmp_path: Path) -> None:
    odd = replace(
        MODEL,
        identifiers=("half \ud83e", "naïve"),
        classes=(True, False),
        judge=replace(MODEL.judge, coefficients=np.array([[0.1 + 0.2, 1e-300]])),
        selector=LinearModel("TopK", "values", np.array([[1 / 3, 2.0]]), np.zeros(1)),
    )
    (tmp_path / "model.json").write_text(odd.to_json())
    kept = SavedModel.load(tmp_path)
    assert kept.to_json() == odd.to_json()
    assert (kept.identifiers, kept.classes) == (odd.identifiers, odd.classes)
    np.testing.assert_array_equal(kept.judge.coefficients, odd.judge.coefficients)
    assert kept.columns == odd.columns
    assert kept.features == odd.features


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "another"}, "is not a model"),
        ({"features": 3}, "is not a model"),
        ({"columns": []}, "is not a model"),
        ({"judge": {"name": "", "rule": "sign", "coefficients": [], "intercept": []}}, "is not"),
        ({"version": 2}, "was written by another version of rowsparse"),
    ],
)
def test_what_is_no_model_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(MODEL.to_json()) | change))
    with pytest.raises(InputError, match=words):
        SavedModel.load(path)


def test_other_files_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        SavedModel.load(tmp_path)
    for content in (b"[1, 2]", b"\xff\xfe", b"{}"):
        (tmp_path / "model.json").write_bytes(content)
        with pytest.raises(InputError, match="is not a model"):
            SavedModel.load(tmp_path)
