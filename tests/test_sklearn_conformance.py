"""Every selector follows scikit-learn's conventions in full."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from rowsparse import CDLSR, RFS, RPFS, LpInf, NmAPG, TopK

SELECTORS = [
    selector(2, variant=variant, **options)
    for selector, options in (
        (RFS, {}),
        (RPFS, {"random_state": 0}),
        (LpInf, {}),
        (NmAPG, {}),
        (CDLSR, {"random_state": 0}),
    )
    for variant in ("corrected", "published")
]
SELECTORS += [
    TopK(2, random_state=0),
    TopK(2, certify=True, random_state=0),
    TopK(2, loss="l21", n_restarts=1, random_state=0),
]


@parametrize_with_checks(SELECTORS)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)
