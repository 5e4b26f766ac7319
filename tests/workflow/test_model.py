"""Saved models: read back exactly, and clear about tables that they cannot be applied to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.columns import Column
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.model import LinearModel, SavedFeature, SavedModel
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table, read_table

from .planted import selected

# The second class if age + [sex is m] > 40.
MODEL = SavedModel(
    method="TopK",
    task="classification",
    targets=("goal",),
    classes=(3, 7),
    guess=(0.0,),
    identifiers=("id",),
    columns=(Column("age"), Column("sex", ("f", "m"), "f")),
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
            "--impute median.",
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
        ({"version": 1}, "was written by another version of rowsparse"),
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


def test_logarithms_are_taken_of_new_tables_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(20, size=(60, 5)).astype(float)
    columns = {f"g{j}": counts[:, j] for j in range(5)}
    goal = np.where(counts[:, 0] > 20, "a", "b")
    path = tmp_path / "counts.csv"
    pl.DataFrame({**columns, "goal": goal}).write_csv(path)
    table = read_table(path, TableSettings(target="goal", log="*", na_values="ND"))
    model = selected(table, 2, cv=0, stability=0).model
    assert model is not None
    model = SavedModel.load(_written(tmp_path, model))
    at = [int(feature.name[1:]) for feature in model.features]
    np.testing.assert_allclose(model.transform(path), np.log2(1 + counts[:, at]))
    low = pl.DataFrame({name: values - 50 for name, values in columns.items()})
    with pytest.raises(InputError, match="holds negative values, and the model takes its log"):
        model.predict(low)
    pl.DataFrame({**columns, "g0": -counts[:, 0], "goal": goal}).write_csv(path)
    with pytest.raises(InputError, match="--log: 'g0' holds negative values"):
        read_table(path, TableSettings(target="goal", log="g*"))


def _written(folder: Path, model: SavedModel) -> Path:
    path = folder / "model.json"
    path.write_text(model.to_json())
    assert SavedModel.load(path).to_json() == model.to_json()
    return path


def test_levels_are_places_in_new_tables_too(tmp_path: Path) -> None:
    grade = ["low", "mid", "high", None] * 15
    goal = [0.0 if one is None else float(len(one)) for one in grade]
    frame = pl.DataFrame({"grade": grade, "noise": np.arange(60) % 7 * 0.3, "goal": goal})
    frame.write_csv(tmp_path / "a.csv")
    settings = TableSettings(target="goal", levels="grade=low<mid<high", impute="median")
    table = read_table(tmp_path / "a.csv", settings)
    model = selected(table, 2, cv=0, stability=0).model
    assert model is not None
    (tmp_path / "model.json").write_text(model.to_json())
    model = SavedModel.load(tmp_path / "model.json")
    new = pl.DataFrame({"noise": [0.0] * 4, "grade": ["high", None, "low", "mid"]})
    at = [feature.name for feature in model.features].index("grade")
    assert model.transform(new)[:, at].tolist() == [2.0, 1.0, 0.0, 1.0]
    with pytest.raises(InputError, match="'grade' holds 'top', which the model does not know"):
        model.transform(new.with_columns(grade=pl.lit("top")))
