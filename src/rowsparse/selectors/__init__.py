"""The scikit-learn face of the methods."""

from rowsparse.selectors.all_features import AllFeatures
from rowsparse.selectors.cdlsr import CDLSR
from rowsparse.selectors.concrete_autoencoder import ConcreteAutoencoder
from rowsparse.selectors.covariance_thresholding import CovarianceThresholding
from rowsparse.selectors.crfs import CRFS
from rowsparse.selectors.firdl import FIRDL
from rowsparse.selectors.fspca import FSPCA
from rowsparse.selectors.ilfs import ILFS
from rowsparse.selectors.information_gain import InformationGain
from rowsparse.selectors.ipfs import IPFS
from rowsparse.selectors.lpinf import LpInf
from rowsparse.selectors.mrmr import MRMR
from rowsparse.selectors.mtfs import MTFS
from rowsparse.selectors.nmapg import NmAPG
from rowsparse.selectors.path import TopKPath, topk_path
from rowsparse.selectors.projected_gradient import ProjectedGradient
from rowsparse.selectors.registry import (
    SelectorInfo,
    get_selector,
    list_selectors,
    selector_info,
)
from rowsparse.selectors.relieff import ReliefF
from rowsparse.selectors.rfs import RFS, RFSPath, rfs_path
from rowsparse.selectors.ridge_ranking import RidgeRanking
from rowsparse.selectors.rpfs import RPFS
from rowsparse.selectors.s2dfs import S2DFS
from rowsparse.selectors.slap import SLAP
from rowsparse.selectors.smoothed_l20 import SmoothedL20
from rowsparse.selectors.stability import Stability, StabilitySelection, stability
from rowsparse.selectors.topk import TopK
from rowsparse.selectors.topk_cv import TopKCV
from rowsparse.selectors.univariate import FisherScore, FStatistic, TTest

__all__ = [
    "CDLSR",
    "CRFS",
    "FIRDL",
    "FSPCA",
    "ILFS",
    "IPFS",
    "MRMR",
    "MTFS",
    "RFS",
    "RPFS",
    "S2DFS",
    "SLAP",
    "AllFeatures",
    "ConcreteAutoencoder",
    "CovarianceThresholding",
    "FStatistic",
    "FisherScore",
    "InformationGain",
    "LpInf",
    "NmAPG",
    "ProjectedGradient",
    "RFSPath",
    "ReliefF",
    "RidgeRanking",
    "SelectorInfo",
    "SmoothedL20",
    "Stability",
    "StabilitySelection",
    "TTest",
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
