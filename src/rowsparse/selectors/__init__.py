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
    "baseline.all_features": ("AllFeatures",),
    "baseline.ridge_ranking": ("RidgeRanking",),
    "deep.concrete_autoencoder": ("ConcreteAutoencoder",),
    "deep.firdl": ("FIRDL",),
    "filters.information_gain": ("InformationGain",),
    "filters.mrmr": ("MRMR",),
    "filters.relieff": ("ReliefF",),
    "filters.class_means": ("FisherScore", "FStatistic", "TTest"),
    "meta.near_optimal": ("NearOptimal",),
    "meta.stability_selection": ("StabilitySelection", "stability"),
    "meta.topk_cv": ("TopKCV",),
    "registry": ("get_selector", "list_selectors"),
    "sparse.cdlsr": ("CDLSR",),
    "sparse.crfs": ("CRFS",),
    "sparse.ipfs": ("IPFS",),
    "sparse.lpinf": ("LpInf",),
    "sparse.mtfs": ("MTFS",),
    "sparse.nmapg": ("NmAPG",),
    "sparse.projected_gradient": ("ProjectedGradient",),
    "sparse.rfs": ("RFS", "RFSPath", "rfs_path"),
    "sparse.rpfs": ("RPFS",),
    "sparse.smoothed_l20": ("SmoothedL20",),
    "subspace.covariance_thresholding": ("CovarianceThresholding",),
    "subspace.fspca": ("FSPCA",),
    "subspace.ilfs": ("ILFS",),
    "subspace.s2dfs": ("S2DFS",),
    "subspace.slap": ("SLAP",),
    "topk.topk_path": ("TopKPath", "topk_path"),
    "topk.predictors": ("TopKClassifier", "TopKRegressor"),
    "topk.topk": ("TopK",),
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
