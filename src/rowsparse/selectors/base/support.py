"""What a choice of features offers, however it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from rowsparse._arrays import Mask
from rowsparse.selectors.base.device import is_foreign, put_columns, take_columns
from rowsparse.selectors.base.summary import summary_html
from rowsparse.streams.dask_partitions import is_dask, selected_columns
from rowsparse.targets import TASKS


class SupportMixin(SelectorMixin):  # type: ignore[misc]
    """A selector whose choice is the mask ``support_``."""

    # What the method accepts as targets, and whether it needs any.
    tasks: ClassVar[tuple[str, ...]] = TASKS[1:]
    supervised: ClassVar[bool] = True
    # Whether fit works on arrays that are on a device, without copying them to the host.
    takes_device_arrays: ClassVar[bool] = False

    support_: Mask

    @property
    def _requires_targets(self) -> bool:
        """Whether y may not be None, with the present parameters."""
        return self.supervised

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "support_")
        return np.asarray(self.support_)

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples: also a torch tensor or a CuPy array, wherever it is, or a dask array or
            dataframe.

        Returns
        -------
        array of shape (n_samples, n_selected)
            Of the library and on the device of X; a dask collection is not computed.
        """
        if is_dask(X):
            names = getattr(self, "feature_names_in_", None)
            return selected_columns(X, self._get_support_mask(), names)
        if not is_foreign(X):
            return super().transform(X)
        return take_columns(self, X, np.flatnonzero(self._get_support_mask()))

    def inverse_transform(self, X: Any) -> Any:
        """Put selected features back in their places, among columns of zeros.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_selected)
            What :meth:`transform` returned.

        Returns
        -------
        array of shape (n_samples, n_features)
            Of the library and on the device of X.
        """
        if not is_foreign(X):
            return super().inverse_transform(X)
        support = self._get_support_mask()
        return put_columns(X, np.flatnonzero(support), support.size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._requires_targets
        tags.target_tags.multi_output = self.tasks != ("classification",)
        tags.target_tags.single_output = True
        return tags

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """For notebooks: scikit-learn's diagram, after a fit with a summary above it."""
        diagram = super()._repr_html_
        return lambda: self._summary() + str(diagram())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._summary() + bundle["text/html"]
        return bundle

    def _summary(self) -> str:
        return summary_html(self) if hasattr(self, "support_") else ""
