"""The scikit-learn face of the methods.

A module is loaded when one of its names is asked for: whoever selects with one method does not
wait for all of them. The types of the names are in ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Every module with public names. No name may be that of a module: whichever was loaded last
# would be found.
MODULES = {
    "all_features": ("AllFeatures",),
    "cdlsr": ("CDLSR",),
    "concrete_autoencoder": ("ConcreteAutoencoder",),
    "covariance_thresholding": ("CovarianceThresholding",),
    "crfs": ("CRFS",),
    "firdl": ("FIRDL",),
    "fspca": ("FSPCA",),
    "ilfs": ("ILFS",),
    "information_gain": ("InformationGain",),
    "ipfs": ("IPFS",),
    "lpinf": ("LpInf",),
    "mrmr": ("MRMR",),
    "mtfs": ("MTFS",),
    "nmapg": ("NmAPG",),
    "path": ("TopKPath", "topk_path"),
    "projected_gradient": ("ProjectedGradient",),
    "registry": ("SelectorInfo", "get_selector", "list_selectors", "selector_info"),
    "relieff": ("ReliefF",),
    "rfs": ("RFS", "RFSPath", "rfs_path"),
    "ridge_ranking": ("RidgeRanking",),
    "rpfs": ("RPFS",),
    "s2dfs": ("S2DFS",),
    "slap": ("SLAP",),
    "smoothed_l20": ("SmoothedL20",),
    "subsampling": ("Stability", "StabilitySelection", "stability"),
    "topk": ("TopK",),
    "topk_cv": ("TopKCV",),
    "univariate": ("FisherScore", "FStatistic", "TTest"),
}
_HOMES = {name: module for module, names in MODULES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
