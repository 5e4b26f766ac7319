"""What parameters may be: declared for every one of them, and held to before anything is fitted."""

from __future__ import annotations

import warnings
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np
import pytest

from rowsparse import (
    RFS,
    StabilitySelection,
    TopK,
    TopKCV,
    get_selector,
    list_selectors,
    rfs_path,
    selector_info,
    topk_path,
)
from rowsparse._parameters import Allowed, Anything, Flag, Number
from rowsparse.selectors.base.parameters import allowed_values, check_parameters
from tests.selectors.cases import FAST, installed

REGISTERED = [selector_info(name).cls for name in list_selectors()]
CLASSES = [*REGISTERED, TopKCV, StabilitySelection]
# What only the data, or PyTorch, can tell right from wrong.
FREE = {"include", "exclude", "feature_groups", "categorical_features", "device"}

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = RNG.standard_normal((40, 5)) + Y[:, None] * [1.0, 0.5, 0.0, 0.0, 2.0]


class Odd:
    """Nothing that any parameter may be."""

    def __repr__(self) -> str:
        return "an\nodd one"


def declared(kind: type | None = None) -> list[Any]:
    """Every parameter of every class that has a constraint (of one kind)."""
    return [
        pytest.param(cls, name, id=f"{cls.__name__}-{name}")
        for cls in CLASSES
        for name, constraint in allowed_values(cls).items()
        if name in signature(cls).parameters
        and not isinstance(constraint, Anything)
        and isinstance(constraint, kind or object)
    ]


# ------------------------------------------------------------------------- no arguments
@pytest.mark.parametrize("cls", CLASSES)
def test_no_argument_is_needed_and_only_the_first_is_positional(cls):
    parameters = list(signature(cls).parameters.values())
    assert all(p.default is not Parameter.empty for p in parameters)
    assert [p.kind for p in parameters] == [
        # That of TopK is k, and TopKCV chooses k: its largest k is given by name.
        Parameter.KEYWORD_ONLY if cls is TopKCV else Parameter.POSITIONAL_OR_KEYWORD,
        *[Parameter.KEYWORD_ONLY] * (len(parameters) - 1),
    ]
    check_parameters(cls())


@pytest.mark.parametrize("name", list_selectors())
def test_ten_features_unless_told_otherwise(name):
    cls = selector_info(name).cls
    first = next(iter(signature(cls).parameters.values()))
    assert first.name == "n_features_to_select"
    assert first.default == (None if name == "allfeatures" else 10)
    assert "default=10" in cls.__doc__ or name == "allfeatures"
    assert get_selector(name).n_features_to_select == 10


@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:FSPCA with n_components")
@pytest.mark.parametrize("name", [n for n in list_selectors() if installed(n)])
def test_fewer_columns_than_the_default_are_all_kept_with_one_warning(name):
    selector = get_selector(name, **FAST.get(name, {}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector.fit(X, Y)
    said = [str(w.message) for w in caught if "n_features_to_select=" in str(w.message)]
    whole = "n_features_to_select=10 is greater than n_features=5: all features are kept."
    assert said == ([] if name == "allfeatures" else [whole])
    assert selector.support_.all()


def test_more_groups_than_there_are_is_all_of_them():
    with pytest.warns(UserWarning, match=r"=10 is greater than n_groups=2: all groups are kept\.$"):
        selector = TopK(feature_groups=[0, 0, 0, 1, 1]).fit(X, Y)
    assert selector.support_.all()


def test_stability_selection_of_nothing_is_that_of_topk():
    X = np.random.default_rng(1).standard_normal((40, 14))
    options = {"n_subsamples": 4, "random_state": 0}
    found = StabilitySelection(**options).fit(X, Y)
    expected = StabilitySelection(TopK(), **options).fit(X, Y)
    np.testing.assert_array_equal(found.supports_, expected.supports_)
    assert found.support_.sum() == 10
    assert found.selector is None


# ---------------------------------------------------------------------------- the tables
@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_is_declared(cls):
    table = allowed_values(cls)
    names = set(signature(cls).parameters)
    assert names <= set(table)
    free = {name for name in names if isinstance(table[name], Anything)}
    assert free <= FREE or (cls.__name__, free) == ("AllFeatures", {"n_features_to_select"})


@pytest.mark.parametrize(("cls", "name"), declared())
def test_a_wrong_type_is_refused_by_name(cls, name):
    selector = cls(**{name: Odd()})
    with pytest.raises((TypeError, ValueError), match=rf"^{name} must be .*; got an odd one\.$"):
        selector.fit(X, Y)
    assert not [v for v in vars(selector) if v.endswith("_")]


@pytest.mark.parametrize("value", ["no", "False", 1.5, 1, 0, None])
@pytest.mark.parametrize(("cls", "name"), declared(Flag))
def test_nothing_is_taken_for_true_or_false(cls, name, value):
    with pytest.raises(TypeError, match=rf"^{name} must be True or False; got {value!r}\.$"):
        cls(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_jobs", 0, "n_jobs must be an integer other than 0, with -1 for all processors, or No"),
        ("n_jobs", 1.0, "n_jobs must be an integer other than 0"),
        ("random_state", "seed", "random_state must be an integer from 0"),
        ("random_state", -1, "random_state must be an integer from 0"),
        ("random_state", np.random.default_rng(0), "random_state must be an integer from 0"),
        ("class_weight", "heavy", "class_weight must be 'balanced', a dict, or None; got 'heavy'."),
        ("class_weight", [1.0, 2.0], "class_weight must be 'balanced', a dict, or None"),
        ("alpha", -1, r"alpha must be a number of at least 0, or 'auto'; got -1\.$"),
    ],
)
def test_shared_parameters_are_refused_alike(name, value, words):
    for cls in (TopK, TopKCV):
        with pytest.raises((TypeError, ValueError), match=f"^{words}"):
            cls(**{name: value}).fit(X, Y)


def test_values_of_numpy_are_those_of_python():
    plain = TopK(2, alpha=2.0, certify=True, standardize=False, n_restarts=3, random_state=1)
    numpy = TopK(
        np.int64(2),
        alpha=np.float32(2.0),
        certify=np.True_,
        standardize=np.False_,
        n_restarts=np.int8(3),
        random_state=np.int32(1),
        n_jobs=np.int64(1),
        task=np.str_("classification"),
    )
    np.testing.assert_array_equal(numpy.fit(X, Y).coef_, plain.fit(X, Y).coef_)
    assert numpy.status_ == plain.status_ == "optimal"


@pytest.mark.parametrize(
    ("name", "value"), [("fit_intercept", "no"), ("standardize", 1.5), ("class_weight", 3)]
)
def test_paths_refuse_what_selectors_refuse(name, value):
    with pytest.raises((TypeError, ValueError), match=f"^{name} must be"):
        topk_path(X, Y, 2, **{name: value})
    with pytest.raises((TypeError, ValueError), match=f"^{name} must be"):
        rfs_path(X, Y, **{name: value})


def test_the_seed_of_a_path_is_checked():
    with pytest.raises(ValueError, match=r"^random_state must be"):
        topk_path(X, Y, 2, random_state="seed")


def test_a_class_inherits_what_it_does_not_declare():
    class Own(RFS):
        allowed: ClassVar[Allowed] = {"tol": Number(low=0.1)}

        def __init__(self, n_features_to_select: int = 2, *, tol: float = 1.0, extra: Any = "?"):
            super().__init__(n_features_to_select, tol=tol)
            self.extra = extra

    assert Own().fit(X, Y).support_.sum() == 2
    with pytest.raises(ValueError, match=r"^tol must be a number of at least 0\.1; got 0\.01\.$"):
        Own(tol=0.01).fit(X, Y)
    with pytest.raises(ValueError, match=r"^n_features_to_select must be an integer"):
        Own(0).fit(X, Y)
    assert allowed_values(RFS)["tol"] == Number(low=0.0, low_open=True)
