"""What parameters may be: declared for every one of them, and held to before anything is fitted."""

import re
import warnings
from functools import partial
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rowsparse import (
    RFS,
    NearOptimal,
    StabilitySelection,
    TopK,
    TopKCV,
    get_selector,
    list_selectors,
    rfs_path,
    topk_path,
)
from rowsparse._parameters import Allowed, AnyValue, Either, Flag, Number, OneOf, Satisfies, Several
from rowsparse.selectors.base.shared_parameters import allowed_values, check_parameters
from rowsparse.selectors.registry import selector_info
from tests.selectors.cases import FAST, installed

REGISTERED = [selector_info(name).cls for name in list_selectors()]
CLASSES = [*REGISTERED, TopKCV, StabilitySelection, NearOptimal]
# What only the data, or PyTorch, can tell right from wrong.
FREE = {"include", "exclude", "feature_groups", "categorical_features", "device"}

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = RNG.standard_normal((40, 5)) + Y[:, None] * [1.0, 0.5, 0.0, 0.0, 2.0]


class Odd:
    """Nothing that any parameter may be."""

    def __repr__(self) -> str:
        return "an\nodd one"


def declared(kind: type = object) -> list[tuple[type, str]]:
    """Every parameter of every class that has a constraint (of one kind)."""
    return [
        (cls, name)
        for cls in CLASSES
        for name, constraint in allowed_values(cls).items()
        if name in signature(cls).parameters
        and not isinstance(constraint, AnyValue)
        and isinstance(constraint, kind)
    ]


def refusal(selector: Any) -> str:
    """The error with which a selector refuses its parameters, and its sentence."""
    try:
        selector.fit(X, Y)
    except (TypeError, ValueError) as error:
        assert not [v for v in vars(selector) if v.endswith("_")]
        return f"{type(error).__name__}: {error}"
    return f"{selector} was fitted"


# ------------------------------------------------------------------------- no arguments
def test_no_argument_is_needed_and_only_the_first_is_positional():
    for cls in CLASSES:
        parameters = list(signature(cls).parameters.values())
        assert all(p.default is not Parameter.empty for p in parameters), cls
        # That of TopK is k, and TopKCV chooses k: its largest k is given by name.
        first = Parameter.KEYWORD_ONLY if cls is TopKCV else Parameter.POSITIONAL_OR_KEYWORD
        others = [Parameter.KEYWORD_ONLY] * (len(parameters) - 1)
        assert [p.kind for p in parameters] == [first, *others], cls
        check_parameters(cls())


def test_ten_features_unless_told_otherwise():
    for name, cls in zip(list_selectors(), REGISTERED, strict=True):
        first = next(iter(signature(cls).parameters.values()))
        assert first.name == "n_features_to_select", name
        assert first.default == (None if name == "allfeatures" else 10), name
        assert "default=10" in cls.__doc__ or name == "allfeatures", name
        assert get_selector(name).n_features_to_select == 10, name


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


# ---------------------------------------------------------------------------- the tables
def test_every_parameter_is_declared():
    for cls in CLASSES:
        table = allowed_values(cls)
        names = set(signature(cls).parameters)
        assert names <= set(table), cls
        free = {name for name in names if isinstance(table[name], AnyValue)}
        assert free <= FREE or (cls.__name__, free) == ("AllFeatures", {"n_features_to_select"})


def test_a_wrong_type_is_refused_by_name():
    for cls, name in declared():
        said = refusal(cls(**{name: Odd()}))
        sentence = rf"(Type|Value)Error: {name} must be .*; got an odd one\."
        assert re.fullmatch(sentence, said), (cls, said)


def test_nothing_is_taken_for_true_or_false():
    for cls, name in declared(Flag):
        for value in ("no", "False", 1.5, 1, 0, None):
            said = refusal(cls(**{name: value}))
            assert said == f"TypeError: {name} must be True or False; got {value!r}.", cls


# Of parameters that many classes have: what none of them takes, but for a few.
WRONG: dict[str, list[Any]] = {
    "variant": ["best", None],
    "solver": ["newton", 1],
    "task": ["ranking", None],
    "loss": ["absolute"],
    "class_weight": ["heavy", 3, [1.0, 2.0], {7: 1.0}],
    **{name: [0, -1.0, np.nan, np.inf, "a", True] for name in ("gamma", "penalty", "mu")},
    "tol": [0, -1e-3, np.nan, np.inf, "a", None, 10**400],
    "max_iter": [0, -1, 1.5, "a", True],
    "n_restarts": [-1, 2.5, "two"],
    "p": [-0.5, 1.5, "a"],
    "alpha": [-0.5, np.nan, "a", None],
    "time_limit": [0, -1.0, "a"],
    "n_jobs": [0, 1.0],
    "random_state": ["seed", -1, np.random.default_rng(0)],
    "aggregate": ["sum", None],
    "bins": [1, 2.5],
    "bin_width": [-0.1, "wide"],
    "n_components": [0],
    "n_neighbors": [0, 2.5],
    "learning_rate": [0.0, "fast"],
}
FINE = [("CRFS", "tol", None), ("TopK", "gamma", 0)]
# Of parameters that one class has for itself: each end of its range, and each list of words.
WRONG_OF: dict[str, dict[str, list[Any]]] = {
    "CRFS": {"sigma": ["wide", 0.0, None]},
    "IPFS": {"rho": [1.0], "ridge": [0.0]},
    "RidgeRanking": {"ridge": [0.0]},
    "ProjectedGradient": {"init": ["zero"], "step": [0.0]},
    "CovarianceThresholding": {"threshold": [-1.0, np.inf, "high"]},
    "FSPCA": {"ridge": [-0.1]},
    "ILFS": {"tokens": ["learnt"], "n_tokens": [1]},
    "S2DFS": {"init": ["best"]},
    "SLAP": {"similarity_weight": [0.0]},
    "FStatistic": {"multilabel": ["both"]},
    "TTest": {"multiclass": ["all"], "equal_var": [1], "ddof": [2, True]},
    "InformationGain": {"discretize": ["bins"], "tie_break": ["random"]},
    "MRMR": {"criterion": ["max"], "discretize": ["median"], "pool": [0, 2.5]},
    "ReliefF": {"sigma": [0.0, "wide"], "multilabel": ["triples"]},
    "TopK": {"clip": [0.0, np.nan, "2"]},
    "TopKCV": {
        "k_max": [0],
        "rule": ["aic"],
        "alphas": [[0.1, -1.0], [], 0.3],
        "ebic_gamma": [-1.0],
        "scoring": [3],
        "estimator": [TopKCV],
        "cv": [1],
    },
    "StabilitySelection": {
        "n_subsamples": [1],
        "subsample": [0.0, 1.0, 1.5],
        "threshold": [1.2],
        "selector": [TopK, LinearRegression()],
    },
    "ConcreteAutoencoder": {
        "target": ["Y"],
        "hidden": [5, "ab", (5, 0)],
        "dropout": [1.0],
        "temperature": [1.0, (1.0,), (1.0, 0.0)],
        "max_tries": [1.5],
        "max_steps": [0],
        "tol": [1.5],
        "batch_size": [0],
    },
    "FIRDL": {
        "operator_hidden": [None],
        "selector_hidden": [(2.5,)],
        "phase_two": [-1],
        "patience": [0],
        "perturbations": [0],
        "n_masks": [3],
        "batch_size": [None],
        "validation_fraction": [0.0, 1.0],
        "time_limit": ["1 h"],
    },
}


@pytest.mark.parametrize("cls", CLASSES)
def test_values_out_of_range_are_refused(cls):
    own = {name: v for name, v in WRONG.items() if name in signature(cls).parameters}
    for name, values in (own | WRONG_OF.get(cls.__name__, {})).items():
        for value in values:
            if (cls.__name__, name, value) not in FINE:
                said = refusal(cls(**{name: value}))
                assert re.match(rf"(Type|Value)Error: {name}\b.*\.$", said), said


def test_paths_refuse_what_selectors_refuse():
    wrong = {"fit_intercept": "no", "standardize": 1.5, "class_weight": 3}
    for name, value in wrong.items():
        for path in (rfs_path, partial(topk_path, k_max=2)):
            with pytest.raises((TypeError, ValueError), match=f"^{name} must be"):
                path(X, Y, **{name: value})
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


# ---------------------------------------------------------------- each kind of constraint
@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Number(low=0, low_open=True, high=1, high_open=True), [0.5], [0, 1, 0.0, 1.0, True]),
        (Number(integer=True), [-3, np.uint8(4)], [1.0, "1", None, 10**400]),
        (OneOf(("a", "b"), optional=True), ["a", None], ["c", "ab", 1, ("a",)]),
        (Flag(), [True, np.False_], [1, 0.0, "True"]),
        (Either(Flag(), OneOf(("auto",))), [True, "auto"], [1, "automatic"]),
        (Satisfies("even", lambda value: value % 2 == 0), [2, 0], [3]),
        (Several(Number(), length=2), [(1, 2)], [(1,), (1, 2, 3)]),
        (Several(Number(low=1), least=1), [[1, 2.5], np.ones(3)], [[], 1, "11", [0], np.eye(2)]),
    ],
)
def test_a_constraint_accepts_and_refuses(constraint, good, bad):
    for value in good:
        constraint.check("x", value)
    for value in bad:
        with pytest.raises((TypeError, ValueError), match=r"^x must be "):
            constraint.check("x", value)


@pytest.mark.parametrize(
    ("constraint", "value", "words"),
    [
        (Number(low=0), -1, "x must be a number of at least 0; got -1."),
        (Number(integer=True, high=3, optional=True), 4, "an integer at most 3 or None; got 4."),
        (OneOf(("a", "b"), optional=True), "c", "one of 'a', 'b', or None; got 'c'."),
        (Either(Flag(), OneOf(("auto",))), 2, "True or False, or 'auto'; got 2."),
    ],
)
def test_an_error_says_what_is_wanted(constraint, value, words):
    with pytest.raises(ValueError, match="x must be") as caught:
        constraint.check("x", value)
    assert str(caught.value).endswith(words)
