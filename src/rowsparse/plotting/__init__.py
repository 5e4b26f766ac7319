"""Pictures of fitted selectors and of comparisons: displays in the manner of scikit-learn."""

from rowsparse.plotting.certificate import CertificateDisplay
from rowsparse.plotting.comparison import ComparisonDisplay
from rowsparse.plotting.correlation import CorrelationDisplay
from rowsparse.plotting.path import PathDisplay
from rowsparse.plotting.selection import SelectionDisplay
from rowsparse.plotting.stability import StabilityDisplay

__all__ = [
    "CertificateDisplay",
    "ComparisonDisplay",
    "CorrelationDisplay",
    "PathDisplay",
    "SelectionDisplay",
    "StabilityDisplay",
]
