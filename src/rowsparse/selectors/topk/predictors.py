"""TopKClassifier and TopKRegressor, which predict with the linear model of TopK."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Array, to_host
from rowsparse._parameters import Allowed, OneOf
from rowsparse.selectors.base.shared_parameters import filled_docstring
from rowsparse.selectors.base.source import is_dask, is_foreign
from rowsparse.selectors.topk.loss_defaults import OWN_TASKS
from rowsparse.selectors.topk.risk_scores import concordance
from rowsparse.selectors.topk.topk import TopK

__all__ = ["TopKClassifier", "TopKRegressor"]

# Rates below this count as it: a deviance has the logarithm of rates.
_LEAST_RATE = float(np.finfo(np.float64).tiny)


class _Predictor(TopK):
    """Base of both: the values of the linear model."""

    @classmethod
    def _of_model(cls, coef: Array, intercept: Any, **fitted: Any) -> Self:
        """A fitted predictor of all columns, from its model and other fitted attributes."""
        predictor = cls()
        d = coef.shape[-1]
        known = {"support_": np.ones(d, dtype=bool), "n_features_in_": d, **fitted}
        for name, value in {"coef_": coef, "intercept_": intercept, **known}.items():
            setattr(predictor, name, value)
        return predictor

    def _values(self, X: Any) -> Array:
        """Values of the model, of shape (n_samples,) or (n_samples, n_targets)."""
        support = self._get_support_mask()
        Z: Any
        if is_dask(X) or is_foreign(X):
            Z = np.asarray(to_host(self.transform(X)), dtype=np.float64)
        else:
            dtype = [np.float64, np.float32]
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=dtype)
            Z = X[:, np.flatnonzero(support)]
        limits = getattr(self, "clip_limits_", None)
        if limits is not None:
            Z = np.clip(Z.toarray() if sp.issparse(Z) else Z, *limits[:, support])
        return np.asarray(Z @ self.coef_[..., support].T) + self.intercept_


def _has_probabilities(classifier: TopKClassifier) -> bool:
    return vars(classifier).get("loss_", classifier.loss) in ("auto", "logistic")


@filled_docstring
class TopKClassifier(ClassifierMixin, _Predictor):  # type: ignore[misc]
    """A classifier on the best k features: :class:`TopK` that predicts.

    The features and the linear model of them are those of :class:`TopK`, which says how they are
    found and what can be proven of them: with ``loss="logistic"`` logistic regression, of several
    classes each against the rest; with ``loss="squared"`` the ridge regression of the indicators
    of the classes, whose largest value is predicted, as in scikit-learn's ``RidgeClassifier``.
    Of two classes the second is predicted where the model is positive. It is a selector too:
    ``transform`` returns the selected columns.

    y holds classes, of text or numbers, whatever their number; a matrix of several columns of 0
    and 1 holds labels.

    Parameters
    ----------
    {inherited_parameters}

    Attributes
    ----------
    {inherited_attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from rowsparse import TopKClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = TopKClassifier(3, loss="logistic", certify=True, random_state=0).fit(X, y)
    >>> classifier.get_support(indices=True), classifier.status_
    (array([20, 21, 27]), 'optimal')
    >>> classifier.predict_proba(X[:2]).round(2)
    array([[0.99, 0.01],
           [0.97, 0.03]])
    >>> print(cross_val_score(classifier.set_params(certify=False), X, y).mean().round(2))
    0.95
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification", "multilabel")
    allowed: ClassVar[Allowed] = {"task": OneOf(("auto", *tasks))}

    def _asked_task(self, y: Any = None) -> str:
        if self.loss in OWN_TASKS:
            raise ValueError(
                f"loss={self.loss!r} is for {OWN_TASKS[self.loss]}, not for classes: take "
                "TopKRegressor, or another loss."
            )
        kind = "multiclass" if y is None else type_of_target(y, input_name="y")
        if kind.startswith("continuous"):
            raise ValueError(
                "Unknown label type: y holds continuous numbers; take TopKRegressor, or make "
                "classes of them."
            )
        if self.task != "auto":
            return self.task
        return "multilabel" if kind == "multilabel-indicator" else "classification"

    def decision_function(self, X: Any) -> Array:
        """The values of the model: for two classes those of the second, positive where likelier.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,) for two classes, otherwise (n_samples, n_classes)
            Of labels, those with a positive value are predicted.
        """
        values = self._values(X)
        if self.task_ == "multilabel":
            return values if self.loss_ == "logistic" else values - 0.5
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sample, or its labels.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_labels)
        """
        values = self.decision_function(X)
        if self.task_ == "multilabel":
            return (values > 0).astype(np.intp)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples whose class, or whose labels, are predicted right.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The classes, or 0/1 label indicators.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, or of each label, with the logistic loss.

        Of several classes they are those of each against the rest, divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            return np.column_stack([expit(-values), expit(values)])
        shares = expit(values)
        if self.task_ == "multilabel":
            return shares
        # Where all of them are too small for floats, the least unlikely class is certain.
        total = shares.sum(axis=1, keepdims=True)
        likeliest = values == values.max(axis=1, keepdims=True)
        return np.divide(shares, total, out=likeliest.astype(np.float64), where=total > 0)

    def _set_choice(self, *found: Any) -> None:
        super()._set_choice(*found)
        if self.task_ == "multilabel":
            self.classes_ = np.arange(len(self.coef_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@filled_docstring
class TopKRegressor(RegressorMixin, _Predictor):  # type: ignore[misc]
    """Ridge, Poisson or Cox regression on the best k features: :class:`TopK` that predicts.

    The features and the linear model of them are those of :class:`TopK`, which says how they are
    found and what can be proven of them. y holds numbers, whole ones too, in one column or
    several; with ``loss="poisson"`` counts, whose rates are predicted; or events and times of
    survival (``loss="cox"``, which a structured array says by itself), for which it predicts the
    risk. It is a selector too: ``transform`` returns the selected columns.

    Parameters
    ----------
    {inherited_parameters}

    Attributes
    ----------
    {inherited_attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rowsparse import TopKRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = TopKRegressor(3, certify=True, random_state=0).fit(X, y)
    >>> regressor.get_support(indices=True), regressor.status_
    (array([2, 3, 8]), 'optimal')
    >>> regressor.predict(X[:2]).shape
    (2,)
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression", "counts", "survival")
    allowed: ClassVar[Allowed] = {"task": OneOf(("auto", *tasks))}

    def _asked_task(self, y: Any = None) -> str:
        if self.loss in OWN_TASKS or self.task != "auto":
            return OWN_TASKS.get(self.loss, self.task)
        structured = getattr(getattr(y, "dtype", None), "names", None) is not None
        return "survival" if structured else "regression"

    def predict(self, X: Any) -> Array:
        """The numbers that the model gives; of counts the rates, of survival times the risks.

        Rates are exp(XW + b). Risks are logarithms of hazards, relative to a sample of mean values
        (of zeros, if columns are not centred): the larger, the earlier is the event.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_targets)
        """
        values = self._values(X)
        return np.exp(values) if self.task_ == "counts" else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination, R^2, of the predictions.

        Of counts D^2, the share of the deviance that they explain, as scikit-learn's
        ``PoissonRegressor`` has it: R^2 with the deviance in the place of the squared residuals. Of
        survival times Harrell's concordance: the share of pairs of samples in which the one with
        the earlier event has the higher risk.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The numbers, or events and times.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
        """
        if self.task_ == "survival":
            return concordance(y, self.predict(X), sample_weight)
        if self.task_ != "counts":
            return float(super().score(X, y, sample_weight))
        y, rates = np.asarray(y, dtype=np.float64), np.maximum(self.predict(X), _LEAST_RATE)
        pairs = zip(np.atleast_2d(y.T), np.atleast_2d(rates.T), strict=True)
        return float(
            np.mean(
                [d2_tweedie_score(*pair, sample_weight=sample_weight, power=1) for pair in pairs]
            )
        )
