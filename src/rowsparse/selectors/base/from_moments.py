"""What selectors that need nothing but Moments have in common: fit_moments and partial_fit."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Mask
from rowsparse._compat import finish_callbacks, with_callbacks
from rowsparse._validation import one_sentence
from rowsparse.moments import Moments
from rowsparse.selectors.base.moments import MomentsSample, read_moments
from rowsparse.selectors.base.parameters import check_parameters
from rowsparse.selectors.base.selector import BaseSelector
from rowsparse.selectors.base.state import SET_BY_VALIDATION, forget_last_fit, unchanged_on_error
from rowsparse.streams import RowBlocks
from rowsparse.streams.class_weights import with_class_weights
from rowsparse.streams.passes import gather
from rowsparse.streams.row_blocks import as_row_blocks

__all__ = ["MAX_PRODUCTS", "FromMoments"]

# Most columns for which X'X is gathered from a stream: it takes 3.2 GB.
MAX_PRODUCTS = 20_000


def _moments_are_enough(selector: FromMoments) -> bool:
    """Whether there is a ``partial_fit`` with these parameters; AttributeError says why not."""
    try:
        selector._check_moments()
    except ValueError as error:
        raise AttributeError(str(error)) from None
    return True


class FromMoments(BaseSelector):
    """A selector that can be fitted from Moments, and so block by block."""

    moments_: Moments

    # Whether X'X is among what is needed.
    needs_products: ClassVar[bool] = True

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        blocks = as_row_blocks(X, y, sample_weight)
        if blocks is None:
            return super()._fit(X, y, sample_weight)
        with unchanged_on_error(self):
            check_parameters(self)
            self._check_combinations()
            self._check_moments()
            before, task = blocks.n_passes, self._asked_task()
            class_weight = getattr(self, "class_weight", None)
            weighted = with_class_weights(blocks, class_weight, task)
            most = MAX_PRODUCTS if self.needs_products else 0
            moments = gather(weighted, task, most_products=most)
            sample = read_moments(
                self, moments, needs_products=False, weighted=class_weight is not None
            )
            if self.needs_products and not moments.has_products:
                self._select_wide(weighted, sample)
            else:
                self._select(sample)
            self.__dict__.pop("dual_coef_", None)
            self.n_passes_ = blocks.n_passes - before
            finish_callbacks(self)
        return self

    def _select_wide(self, blocks: RowBlocks, sample: MomentsSample) -> None:
        """Select from too many columns for X'X, which the statistics of ``sample`` lack."""
        d = sample.statistics.x_origin.size
        raise ValueError(
            f"{type(self).__name__} needs X'X in memory, and the {d} columns are more than "
            f"{MAX_PRODUCTS}: use TopK, or FStatistic to choose some of them first."
        )

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_moments(self, moments: Moments) -> Self:
        """Select features from statistics of the samples, as ``fit`` does from all of them.

        Parameters
        ----------
        moments : Moments
            The statistics; not changed.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            check_parameters(self)
            self._check_combinations()
            self._check_moments()
            self._select(read_moments(self, moments))
            # It has one entry a sample, and there are no samples.
            self.__dict__.pop("dual_coef_", None)
            finish_callbacks(self)
        return self

    @available_if(_moments_are_enough)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a block of samples to those of earlier calls.

        Only their statistics are kept, as ``moments_``. The features are selected when one of the
        fitted attributes is asked for, or ``transform`` or ``get_support``, from all samples so
        far. ``fit`` and ``fit_moments`` begin anew.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The block.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators, or numbers. Classes may appear in any block.
        classes : array-like, optional
            Classes to come in later blocks; they need not be named.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.

        Returns
        -------
        self
        """
        first = "moments_" not in vars(self)
        with unchanged_on_error(self):
            check_parameters(self)
            try:
                validate_data(self, X, reset=first, skip_check_array=True)
            except (TypeError, ValueError) as error:
                raise one_sentence("X", error) from None
            if first:
                moments = Moments(self._asked_task(y), products=self.needs_products)
            else:
                moments = self.moments_
            moments.update(X, y, sample_weight, classes=classes)
            forget_last_fit(self)
            self.moments_ = moments
        return self

    def _check_moments(self) -> None:
        """Refuse parameters with which more than Moments is needed."""

    def __getattr__(self, name: str) -> Any:
        fitted = name.endswith("_") and not name.startswith("_") and name not in SET_BY_VALIDATION
        if fitted and "moments_" in vars(self) and "support_" not in vars(self):
            try:
                self._select_from_blocks()
            except ValueError as error:
                # An AttributeError too: hasattr is False while the blocks are not enough.
                raise NotFittedError(str(error)) from error
            return getattr(self, name)
        if name == "partial_fit":
            _moments_are_enough(self)  # raises the reason, which the lookup of the method lost
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _get_support_mask(self) -> Mask:
        # The lookup of the choice says why there is none yet.
        return self.support_ if "moments_" in vars(self) else super()._get_support_mask()

    def _select_from_blocks(self) -> None:
        moments = self.__dict__.pop("moments_")
        try:
            self.fit_moments(moments)
        finally:
            self.moments_ = moments
