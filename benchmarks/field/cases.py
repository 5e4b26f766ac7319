"""Which runs there are: a part of the comparison, a problem, its settings and a method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

# Processor seconds and bytes of a run.
LIMIT = 60.0
MEMORY = 6 * 2**30


@dataclass(frozen=True)
class Case:
    """One run; what ``parameter`` is depends on the part."""

    part: str
    problem: str
    k: int
    parameter: float
    method: str

    @property
    def key(self) -> tuple[str, str, int, float, str]:
        return (self.part, self.problem, self.k, self.parameter, self.method)


TOPK, PLAIN = "TopK", "TopK, no restarts"
SUBSETS = (TOPK, PLAIN, "CD-LSR", "fastcan", "fastcan, beam 10", "abess")
SUBSET_SETS = ("srbct", "yale", "coil20", "isolet")
SUBSET_SIZES = (5, 10, 20, 50)

L21 = ("MTFS", "scikit-learn", "skglm", "celer")
# Sets and shares of the largest useful penalty.
L21_CASES = (("allaml", 0.3), ("allaml", 0.05), ("isolet", 0.3), ("isolet", 0.05))

RFS = ("RFS", "skfeature-chappers")
RFS_SETS = ("lung_discrete", "yale", "srbct")

ASSUMED = "l0bnb, assumed M"
PROVERS = (TOPK, "OKRidge", "l0bnb", ASSUMED, "El0ps", "SCIP", "HiGHS")
# For general solvers, problems with few features only.
GENERAL = ("SCIP", "HiGHS")
LARGE = ("d=3000", "d=10000", "leu", "allaml", "prostate_ge", "srbct", "lung")
# Problem, k and the ridge: as such on data of others, alpha = ridge / n on real tables.
SYNTHETIC = (
    ("decaying n=6000 d=500 rho=0.5 snr=5", 10, 0.1),
    ("decaying n=6000 d=500 rho=0.9 snr=5", 10, 0.1),
    ("decaying n=6000 d=1000 rho=0.5 snr=5", 10, 0.1),
    ("decaying n=6000 d=1000 rho=0.9 snr=5", 10, 0.1),
    ("decaying n=6000 d=3000 rho=0.5 snr=5", 10, 0.1),
    ("shared n=1000 d=1000 rho=0 snr=10", 10, 20.0),
    ("shared n=1000 d=1000 rho=0 snr=5", 10, 20.0),
    ("shared n=1000 d=1000 rho=0.1 snr=10", 10, 20.0),
    ("shared n=1000 d=1000 rho=0.5 snr=5", 10, 20.0),
    ("shared n=1000 d=10000 rho=0 snr=10", 10, 20.0),
    ("informative n=30 d=50", 4, 0.2),
    ("informative n=100 d=500", 5, 0.2),
    ("informative n=500 d=1000", 5, 0.2),
)
REAL = (
    ("diabetes", 5, 1e-3),
    ("diabetes", 10, 1e-3),
    ("diabetes", 5, 0.1),
    ("usps class 0", 5, 0.01),
    ("usps class 0", 5, 0.5),
    ("isolet class 0", 5, 0.1),
    ("isolet class 0", 10, 0.1),
    ("isolet class 0", 5, 0.5),
    ("leu class 0", 5, 2.0),
    ("leu class 0", 10, 2.0),
    ("leu class 0", 5, 0.5),
    ("allaml class 0", 5, 2.0),
    ("allaml class 0", 10, 2.0),
    ("allaml class 0", 5, 0.5),
    ("prostate_ge class 0", 5, 2.0),
    ("prostate_ge class 0", 10, 2.0),
    ("prostate_ge class 0", 5, 0.5),
    ("srbct class 0", 5, 0.5),
    ("lung class 0", 5, 0.5),
)

# In this order: the parameter of a run is the number of its filter.
FILTERS = {
    "ReliefF": ("ReliefF", "skrebate", "skfeature-chappers"),
    "mRMR": ("MRMR", "mrmr-selection"),
    "information gain": ("InformationGain", "scikit-learn"),
    "F": ("FStatistic", "scikit-learn", "skfeature-chappers"),
}
FILTER_SETS = {
    "ReliefF": ("srbct", "allaml"),
    "mRMR": ("srbct", "allaml"),
    "information gain": ("allaml", "isolet"),
    "F": ("allaml", "isolet", "usps"),
}
FILTER_SIZE = 20

GROWTH = (TOPK, PLAIN, "fastcan", "abess")
# What grows: n, d and k of each step.
GROWTH_STEPS = {
    "n": tuple((n, 1000, 10) for n in (500, 1000, 2000, 4000)),
    "d": tuple((500, d, 10) for d in (500, 1000, 2000, 4000)),
    "k": tuple((1000, 1000, k) for k in (5, 10, 20, 40)),
}

PARTS = ("objective", "l21", "rfs", "proofs", "filters", "growth")


def all_cases() -> list[Case]:
    """Every run, in the order of ``PARTS``."""
    return [case for part in PARTS for case in _MAKERS[part]()]


def _objective() -> Iterator[Case]:
    for name, k, method in product(SUBSET_SETS, SUBSET_SIZES, SUBSETS):
        yield Case("objective", name, k, 0.0, method)


def _l21() -> Iterator[Case]:
    for (name, share), method in product(L21_CASES, L21):
        yield Case("l21", name, 0, share, method)


def _rfs() -> Iterator[Case]:
    for name, method in product(RFS_SETS, RFS):
        yield Case("rfs", name, 0, 10.0, method)


def _proofs() -> Iterator[Case]:
    special = [method for method in PROVERS if method not in GENERAL]
    for methods in (special, GENERAL):
        for (name, k, ridge), method in product((*SYNTHETIC, *REAL), methods):
            if method in special or not any(word in name for word in LARGE):
                yield Case("proofs", name, k, ridge, method)


def _filters() -> Iterator[Case]:
    for number, (kind, methods) in enumerate(FILTERS.items()):
        for name, method in product(FILTER_SETS[kind], methods):
            yield Case("filters", name, FILTER_SIZE, float(number), method)


def _growth() -> Iterator[Case]:
    steps = dict.fromkeys(step for steps in GROWTH_STEPS.values() for step in steps)
    for (n, d, k), method in product(steps, GROWTH):
        yield Case("growth", f"growing n={n} d={d}", k, 0.0, method)


_MAKERS = {
    "objective": _objective,
    "l21": _l21,
    "rfs": _rfs,
    "proofs": _proofs,
    "filters": _filters,
    "growth": _growth,
}
