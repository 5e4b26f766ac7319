"""Every selector follows scikit-learn's conventions in full."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from .selectors.cases import FAST, all_selectors, factory

# Beside the default of each selector, by its name in the registry.
VARIANTS = {
    **{name: [{"variant": "published"}] for name in ("rfs", "rpfs", "lpinf", "nmapg", "cdlsr")},
    "s2dfs": [{"solver": "published"}],
    "ilfs": [{"tokens": "plsa"}],
    "slap": [{"alpha": 0.1}],
    "projectedgradient": [{"init": "random", "n_init": 3}],
    "mrmr": [{"criterion": "fcq"}],
    "topk": [{"certify": True}, {"loss": "l21", "n_restarts": 1}],
}

SELECTORS = [make() for make in all_selectors(2).values()]
SELECTORS += [
    factory(name, 2, **FAST.get(name, {}))(**options)
    for name, variants in VARIANTS.items()
    for options in variants
]


@parametrize_with_checks(SELECTORS)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)
