"""Pictures of fitted selectors and of comparisons: displays in the manner of scikit-learn."""

from rowsparse.plotting.certificate_display import CertificateDisplay
from rowsparse.plotting.comparison_display import ComparisonDisplay
from rowsparse.plotting.correlation_display import CorrelationDisplay
from rowsparse.plotting.near_optimal_display import NearOptimalDisplay
from rowsparse.plotting.path_display import PathDisplay
from rowsparse.plotting.selection_display import SelectionDisplay
from rowsparse.plotting.stability_display import StabilityDisplay
from rowsparse.plotting.survival_display import SurvivalDisplay

__all__ = [
    "CertificateDisplay",
    "ComparisonDisplay",
    "CorrelationDisplay",
    "NearOptimalDisplay",
    "PathDisplay",
    "SelectionDisplay",
    "StabilityDisplay",
    "SurvivalDisplay",
]
