"""The scikit-learn face of the methods."""

from rowsparse.selectors.cdlsr import CDLSR
from rowsparse.selectors.lpinf import LpInf
from rowsparse.selectors.nmapg import NmAPG
from rowsparse.selectors.rfs import RFS, RFSPath, rfs_path
from rowsparse.selectors.rpfs import RPFS

__all__ = ["CDLSR", "RFS", "RPFS", "LpInf", "NmAPG", "RFSPath", "rfs_path"]
