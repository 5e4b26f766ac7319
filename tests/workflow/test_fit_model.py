"""The saved model predicts what scikit-learn's fitted pipeline predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from rowsparse import TopK
from rowsparse.workflow.model import SavedModel, linear_model, selector_model
from rowsparse.workflow.select import select
from rowsparse.workflow.settings import SelectSettings, TableSettings
from rowsparse.workflow.table import read_table

RNG = np.random.default_rng(1)
Z, BLOB = make_blobs(120, 4, centers=5, cluster_std=6.0, random_state=0)
LABELS = np.column_stack([BLOB == 0, BLOB > 2, np.ones(120), np.zeros(120)]).astype(int)


@pytest.mark.parametrize(
    ("judge", "y"),
    [
        (SVC(kernel="linear"), BLOB > 2),
        (SVC(kernel="linear"), BLOB),
        (LogisticRegression(max_iter=1000), BLOB > 2),
        (LogisticRegression(max_iter=1000), BLOB),
        (OneVsRestClassifier(SVC(kernel="linear")), LABELS),
        (OneVsRestClassifier(LogisticRegression(max_iter=1000)), LABELS[:, :2]),
        (LinearRegression(), BLOB + Z[:, 0]),
        (LinearRegression(), np.column_stack([BLOB + Z[:, 0], Z[:, 1] ** 2])),
    ],
)
@pytest.mark.filterwarnings("ignore:Label")
def test_coefficients_and_rule_give_the_predictions(judge: Any, y: np.ndarray) -> None:
    fitted = clone(judge).fit(Z[:80], y[:80])
    expected = fitted.predict(Z[80:])
    model = linear_model("judge", fitted)
    classes = getattr(fitted, "classes_", np.arange(0))
    found = model.predict(Z[80:], len(classes))
    if model.rule in ("sign", "largest", "pairs"):
        np.testing.assert_array_equal(classes[found], expected)
        assert len(set(expected.tolist())) == len(classes), "every class is predicted"
    elif model.rule == "labels":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected.reshape(len(found), -1), rtol=1e-10)


def table(n: int) -> pl.DataFrame:
    """Numbers and categories, a tenth of them missing, with targets of every kind."""
    X = RNG.standard_normal((n, 4)) * [1, 10, 0.1, 1] + [0, 100, 5, 0]
    sex, site = RNG.choice(["f", "m"], n), RNG.choice(["a", "b", "c"], n)
    score = X[:, 0] + (X[:, 1] - 100) / 10 + 2 * (sex == "m") + 2.0 * (site == "b")
    score += 0.5 * RNG.standard_normal(n)
    columns = {f"f{j}": X[:, j] for j in range(4)} | {"sex": sex, "site": site}
    gaps = {
        name: pl.when(pl.Series(RNG.random(n) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in columns
    }
    return (
        pl.DataFrame(columns)
        .with_columns(*gaps.values())
        .with_columns(
            kind=pl.Series(np.array(["low", "mid", "top"])[np.digitize(score, [0.5, 3])]),
            l1=pl.Series((score > 1).astype(int)),
            l2=pl.Series((X[:, 0] > 0).astype(int)),
            n1=pl.Series(score),
            n2=pl.Series(score - 2 * X[:, 0]),
        )
    )


def encoded(train: pl.DataFrame, new: pl.DataFrame, model: SavedModel) -> list[np.ndarray]:
    """The features of both tables by scikit-learn's imputers and encoder."""
    names = [column.name for column in model.columns if column.values is None]
    texts = [column.name for column in model.columns if column.values is not None]
    numbers = SimpleImputer(strategy="median").fit(train.select(names).to_numpy())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=None),
        OneHotEncoder(drop="if_binary", sparse_output=False),
    ).fit(train.select(texts).to_numpy())
    made = words[-1].get_feature_names_out(texts).tolist()
    order = [[*names, *made].index(feature.name.replace("=", "_")) for feature in model.features]
    return [
        np.hstack(
            [
                numbers.transform(part.select(names).to_numpy()),
                words.transform(part.select(texts).to_numpy()),
            ]
        )[:, order]
        for part in (train, new)
    ]


@pytest.mark.parametrize(
    ("target", "judge"),
    [
        ("kind", SVC(kernel="linear", C=1.0)),
        ("l1,l2", OneVsRestClassifier(SVC(kernel="linear", C=1.0))),
        ("n1", LinearRegression()),
        ("n1,n2", LinearRegression()),
    ],
)
def test_predictions_equal_those_of_the_pipeline(target: str, judge: Any, tmp_path: Path) -> None:
    train, new = table(150), table(60)
    others = ",".join({"kind", "l1", "l2", "n1", "n2"} - set(target.split(",")))
    train.write_csv(tmp_path / "train.csv")
    new.drop(others.split(",")).reverse().write_csv(tmp_path / "new.csv")
    reading = TableSettings(target=target, drop=others, impute="median")
    data = read_table(tmp_path / "train.csv", reading)
    include = SelectSettings(k=4, cv=0, stability=0, include="sex,site")
    model = select(data, include).model
    assert model is not None
    (tmp_path / "model.json").write_text(model.to_json())
    kept = SavedModel.load(tmp_path)
    X, X_new = encoded(train, new, kept)
    fitted = make_pipeline(StandardScaler(), judge).fit(X, data.y)
    np.testing.assert_allclose(kept.transform(tmp_path / "new.csv")[::-1], X_new, rtol=1e-12)
    expected, found = fitted.predict(X_new), kept.predict(tmp_path / "new.csv")[::-1]
    if target.startswith("n"):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    else:
        np.testing.assert_array_equal(found, expected)
        assert len(np.unique(expected, axis=0)) > 1


def test_the_coefficients_of_the_selector_are_those_of_the_selected_columns(numbers: Any) -> None:
    from rowsparse import TopK

    model = select(numbers, SelectSettings(k=3, cv=0, stability=0)).model
    assert model is not None
    assert model.selector is not None
    fitted = TopK(3, random_state=0, task="regression").fit(numbers.X, numbers.y)
    at = [numbers.names.index(feature.name) for feature in model.features]
    np.testing.assert_allclose(model.selector.coefficients[0], fitted.coef_[at], rtol=1e-9)
    np.testing.assert_allclose(model.selector.intercept, fitted.intercept_, rtol=1e-9)


@pytest.mark.parametrize("kind", ["two", "several", "labels"])
def test_the_own_coefficients_of_the_logistic_loss_predict(kind: str) -> None:
    y = {"two": BLOB > 2, "several": BLOB, "labels": LABELS[:, :2]}[kind]
    selector = TopK(3, loss="logistic", random_state=0).fit(Z, y)
    order = np.flatnonzero(selector.get_support())
    task = "multilabel" if kind == "labels" else "classification"
    model = selector_model("topk", selector, order, task)
    assert model is not None
    found = model.predict(Z[:, order], len(np.unique(BLOB)))
    values = Z @ selector.coef_.T + selector.intercept_
    expected = {"two": values[:, 0] > 0, "several": values.argmax(axis=1), "labels": values > 0}
    np.testing.assert_array_equal(found, expected[kind])
    assert np.mean(found == y) > 0.5


def test_coefficients_of_clipped_columns_are_not_saved(numbers: Any) -> None:
    model = select(numbers, SelectSettings(k=3, cv=0, stability=0, clip=1.0)).model
    assert model is not None
    assert model.selector is None


def test_a_method_without_coefficients_has_no_linear_model_of_its_own(classes: Any) -> None:
    model = select(classes, SelectSettings(k=3, cv=0, stability=0, method="relieff")).model
    assert model is not None
    assert model.selector is None
    assert model.guess == (float(np.argmax(classes.target.counts)),)
