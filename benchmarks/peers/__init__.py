"""Other packages, one file each, imported only when a benchmark or the league asks for them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

# The file of each peer, and the distributions whose versions are reported.
DISTRIBUTIONS = {
    "scikit_feature": ["skfeature-chappers"],
    "scikit_learn": ["scikit-learn"],
    "abess": ["abess"],
    "fastcan": ["fastcan"],
    "skrebate": ["skrebate"],
    "mrmr_selection": ["mrmr-selection", "pandas"],
}
# Those of docs/field.md alone, which ``make bench-field`` installs.
FIELD_DISTRIBUTIONS = {
    "skglm": ["skglm", "numba"],
    "celer": ["celer"],
    "okridge": ["okridge"],
    "l0bnb": ["l0bnb"],
    "el0ps": ["el0ps"],
    "scip": ["pyscipopt"],
    "highs": ["highspy"],
}


def require(name: str) -> Any:
    """The module of a peer; an ImportError names the extra that installs it."""
    try:
        return import_module(f"benchmarks.peers.{name}")
    except ImportError as error:
        package = (DISTRIBUTIONS | FIELD_DISTRIBUTIONS)[name][0]
        bench = name in DISTRIBUTIONS
        how = 'pip install "rowsparse[bench]"' if bench else "make bench-field installs it"
        raise ImportError(f"{package} is not installed: {how} ({error}).") from None


def find(name: str) -> tuple[ModuleType | None, str]:
    """The module of a peer; or None and a sentence that says why it is skipped."""
    try:
        return require(name), ""
    except ImportError as error:
        return None, f"Skipped: {error}"
