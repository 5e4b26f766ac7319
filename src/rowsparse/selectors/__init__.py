"""The scikit-learn face of the methods."""

from rowsparse.selectors.cdlsr import CDLSR
from rowsparse.selectors.lpinf import LpInf
from rowsparse.selectors.nmapg import NmAPG
from rowsparse.selectors.path import TopKPath, topk_path
from rowsparse.selectors.registry import (
    SelectorInfo,
    get_selector,
    list_selectors,
    selector_info,
)
from rowsparse.selectors.rfs import RFS, RFSPath, rfs_path
from rowsparse.selectors.rpfs import RPFS
from rowsparse.selectors.stability import Stability, StabilitySelection, stability
from rowsparse.selectors.topk import TopK
from rowsparse.selectors.topk_cv import TopKCV

__all__ = [
    "CDLSR",
    "RFS",
    "RPFS",
    "LpInf",
    "NmAPG",
    "RFSPath",
    "SelectorInfo",
    "Stability",
    "StabilitySelection",
    "TopK",
    "TopKCV",
    "TopKPath",
    "get_selector",
    "list_selectors",
    "rfs_path",
    "selector_info",
    "stability",
    "topk_path",
]
