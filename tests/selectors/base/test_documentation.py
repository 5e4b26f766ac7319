"""Docstrings are complete: every parameter with its default, every fitted attribute."""

import ast
import re
from inspect import Parameter, getdoc, signature
from typing import Any

import numpy as np
import pytest

from rowsparse import (
    NearOptimal,
    RowBlocks,
    StabilitySelection,
    TopK,
    TopKClassifier,
    TopKCV,
    TopKRegressor,
    list_selectors,
    rfs_path,
    topk_path,
)
from rowsparse.selectors.base.fitted_selector import fitted_attributes
from rowsparse.selectors.registry import selector_info
from tests.selectors.cases import FAST, documented, installed

CLASSES = [
    *(selector_info(name).cls for name in list_selectors()),
    TopKClassifier,
    TopKRegressor,
    TopKCV,
    StabilitySelection,
    NearOptimal,
]
TOPK: list[dict[str, Any]] = [{"certify": True}, {"loss": "l21"}, {"clip": 2.0}]

# Settings beside the default that set further attributes, by the name of the class.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "RFS": [{"gamma": 1.0}, {"variant": "published"}],
    "MTFS": [{"gamma": 1.0}],
    "LpInf": [{"gamma": 1.0}, {"p": 1.0}, {"variant": "published"}],
    "NmAPG": [{"variant": "published"}],
    "RPFS": [{"variant": "published"}],
    "CDLSR": [{"variant": "published"}],
    "S2DFS": [{"variant": "published"}],
    "ILFS": [{"tokens": "plsa"}],
    **dict.fromkeys(["TopK", "TopKClassifier", "TopKRegressor"], TOPK),
    "TopKCV": [{"rule": "ebic", "clip": 2.0}],
    "ConcreteAutoencoder": [{"target": "y"}],
}
# Settings with which selectors without fit_moments take blocks of rows.
STREAMED: dict[str, dict[str, Any]] = {"RFS": {"gamma": 1.0}}
QUICK: dict[str, dict[str, Any]] = {
    "TopKCV": {"k_max": 2, "cv": 2},
    "StabilitySelection": {"selector": TopK(2), "n_subsamples": 2},
    "NearOptimal": {"selector": TopK(2)},
}


def documented_default(kind: str) -> Any:
    if kind.endswith(", optional"):
        return None
    return ast.literal_eval(kind.rpartition("default=")[2])


def test_every_parameter_has_an_entry_with_its_default():
    for cls in CLASSES:
        found = documented(cls, "Parameters")
        defaults = {name: documented_default(kind) for name, kind in found.items()}
        assert defaults == {n: p.default for n, p in signature(cls).parameters.items()}, cls
        assert Parameter.empty not in defaults.values(), cls


def fits(cls: type) -> list[Any]:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = pd.DataFrame(rng.standard_normal((30, 5)) + np.eye(3, 5)[y], columns=list("abcde"))
    fast = QUICK.get(cls.__name__)
    if fast is None:
        fast = {"n_features_to_select": 2} | FAST.get(cls.__name__.lower(), {})
    fitted = [cls(**fast | more).fit(X, y) for more in ({}, *SETTINGS.get(cls.__name__, []))]
    if hasattr(cls, "fit_moments") or cls.__name__ in STREAMED:
        blocks = RowBlocks(lambda: [(X[i::2], y[i::2]) for i in range(2)])
        fitted.append(cls(**fast | STREAMED.get(cls.__name__, {})).fit(blocks))
    if hasattr(cls, "partial_fit"):
        fitted.append(cls(**fast).partial_fit(X, y))
    return fitted


@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*non-zero rows")
@pytest.mark.parametrize("cls", CLASSES)
def test_every_fitted_attribute_has_an_entry(cls):
    if cls.__name__.lower() in list_selectors() and not installed(cls.__name__.lower()):
        pytest.skip("needs an extra")
    found = {name for fitted in fits(cls) for name in fitted_attributes(fitted)}
    never = set() if "classification" in cls.tasks else {"classes_"}
    assert set(documented(cls, "Attributes")) - never == found


def test_no_placeholder_is_left_nor_a_reference_to_another_docstring():
    for shown in (*CLASSES, rfs_path, topk_path):
        text = getdoc(shown)
        assert not re.search(r"^ *\{\w+\}$", text, re.M), shown
        assert not re.search(r"\bas in :(class|meth):", text, re.I), shown


def test_a_path_has_an_entry_for_every_parameter():
    for function in (rfs_path, topk_path):
        assert set(documented(function, "Parameters")) == set(signature(function).parameters)
