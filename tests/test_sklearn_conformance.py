"""Every selector follows scikit-learn's conventions in full: its own checks of estimators."""

from typing import Any

import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from rowsparse import (
    NearOptimal,
    StabilitySelection,
    TopK,
    TopKClassifier,
    TopKCV,
    TopKRegressor,
    list_selectors,
)
from rowsparse.selectors.registry import selector_info

from .selectors.cases import FAST, factory, installed

# Settings other than the defaults, by the name in the registry.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    **{name: [{"variant": "published"}] for name in ("rfs", "rpfs", "lpinf", "nmapg", "cdlsr")},
    "s2dfs": [{"variant": "published"}],
    "ilfs": [{"tokens": "plsa"}],
    "slap": [{"similarity_weight": 0.1}],
    "projectedgradient": [{"init": "random", "n_restarts": 2}],
    "mrmr": [{"criterion": "fcq"}],
    "topk": [
        {"certify": True},
        {"loss": "l21", "n_restarts": 1},
        {"loss": "logistic"},
        {"clip": 1.0},
    ],
}

# These two checks leave nine samples, of rank 8 once centred. Ten features are more than that:
# which ones a method without a ridge ends with changes with the last digit of X, weights or not.
ARBITRARY = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "ten features of rank 8: the choice is arbitrary",
)
WITHOUT_RIDGE = ("IPFS", "LpInf", "RPFS")

NAMES = [name for name in list_selectors() if installed(name)]
MAKE = {name: factory(name, 2, **FAST.get(name, {})) for name in NAMES}
TWO_FEATURES = [
    *(make() for make in MAKE.values()),
    TopKClassifier(2, loss="logistic", n_restarts=0),
    TopKRegressor(2, n_restarts=0),
    TopKCV(k_max=2, cv=2, n_restarts=0),
    StabilitySelection(TopK(2, n_restarts=0), n_subsamples=2),
    NearOptimal(TopK(2, n_restarts=0)),
]
OTHERS = [
    *(MAKE[name](**options) for name, several in VARIANTS.items() for options in several),
    TopKClassifier(2, loss="squared"),
    TopKClassifier(2, loss="l21", n_restarts=1),
    TopKClassifier(2, loss="squared", clip=1.0),
    TopKRegressor(2, loss="l21", n_restarts=1),
]
WITHOUT_ARGUMENTS = [
    *(selector_info(name).cls(**FAST.get(name, {})) for name in NAMES),
    TopKClassifier(),
    TopKRegressor(),
    TopKCV(),
    StabilitySelection(n_subsamples=10),
    StabilitySelection(SelectKBest(k=1), n_subsamples=4),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(TWO_FEATURES)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


# One case for all checks of a setting: most of them look at what its selector passed above.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [*OTHERS, *WITHOUT_ARGUMENTS], ids=repr)
def test_scikit_learn_conformance_of_other_settings_and_without_arguments(estimator):
    arbitrary = type(estimator).__name__ in WITHOUT_RIDGE and estimator.n_features_to_select == 10
    results = check_estimator(estimator, expected_failed_checks=ARBITRARY if arbitrary else {})
    assert sum(found["status"] == "passed" for found in results) > 40
