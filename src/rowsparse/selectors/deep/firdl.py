"""FIRDL: feature importance ranking by two networks (Wojtas and Chen, 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from rowsparse._arrays import Index
from rowsparse._parameters import Allowed, Number
from rowsparse.deep.firdl_solver import FirdlFit, FirdlSettings, Part, firdl, hold_out
from rowsparse.deep.torch_tools import Rows, standardized
from rowsparse.selectors.base.selector import ScoredFeatures
from rowsparse.selectors.base.source import Samples
from rowsparse.selectors.deep.network import LAYERS, DeepSelector, NetworkData
from rowsparse.selectors.registry import register
from rowsparse.targets import Targets


@register("firdl", kind="deep", reference="Wojtas & Chen 2020", extra="deep")
class FIRDL(DeepSelector):
    """A network that learns which sets of k columns another network predicts well from.

    The operator f(x * m, m) predicts the targets from the columns in a mask m of exactly k ones.
    The selector g(m) learns the loss of the operator for each mask. Both are trained in turn, in
    a first phase on random masks, in a second one also near the mask of least g, which is found
    by gradients and single swaps. The result is that mask, its columns ranked by -dg/dm. Needs
    PyTorch (the extra ``deep``).

    Parameters
    ----------
    {n_features_to_select}
    operator_hidden : sequence of int, default=(60, 30, 20)
        Hidden units of the operator, layer by layer.
    selector_hidden : sequence of int, default=(100, 50, 10)
        Hidden units of the selector, layer by layer.
    max_iter : int, default=15000
        Limit on the batches.
    phase_two : int, default=6000
        Batches of the first phase.
    patience : int, default=600
        Batches of the second phase without a lower validation loss after which training ends.
        Raise it for weak signals.
    perturbations : int, default=2
        Random swaps between the best mask and the masks near it.
    n_masks : int, default=32
        Masks a batch; every sample of the batch meets every mask.
    batch_size : int, default=32
        Samples a batch.
    validation_fraction : float, default=0.2
        Share of the samples held out to tell when to stop, of each class alike.
    learning_rate : float, default=0.001
        Of the operator's NAdam and the selector's Adam.
    {network}
    task : {"auto", "classification", "multilabel", "regression"}, default="auto"
        What y holds; "auto" guesses it, with a warning in a close call. The loss is the
        cross-entropy, its mean over the labels, or the squared error of standardised numbers.
    random_state : int, RandomState or None, default=None
        Draws the weights, the masks, the samples and the validation part.

    Attributes
    ----------
    {choice}
    scores_ : array of shape (n_features,)
        Importances -dg/dm at the best mask; they may be negative. Features in the mask rank
        before all others.
    n_iter_ : int
        Number of batches.
    converged_ : bool
        Whether ``patience`` ended the training; if not, a ``ConvergenceWarning`` says so.
    history_ : array
        Validation loss with the best mask of the time, every 16 batches.
    validation_loss_ : float
        Validation loss with the features selected, the operator at its best.
    stopped_ : {"patience", "max_iter", "time_limit", "callback"}
        What ended the training.
    device_ : str
        Where it was trained.

    Notes
    -----
    On the CPU one thread is used, so that the same ``random_state`` gives the same answer however
    many there are. A dense X is copied once in single precision; a sparse X is made dense batch
    by batch. Constant columns take no part.

    References
    ----------
    M. Wojtas, K. Chen. Feature importance ranking for deep learning. NeurIPS 2020.

    Examples
    --------
    >>> from rowsparse import FIRDL
    >>> FIRDL(5, patience=4000, time_limit=120)
    FIRDL(n_features_to_select=5, patience=4000, time_limit=120)
    """

    _counted = "batches"
    _advice = "raise max_iter"

    allowed: ClassVar[Allowed] = {
        "operator_hidden": LAYERS,
        "selector_hidden": LAYERS,
        "phase_two": Number(low=0, integer=True),
        "patience": Number(low=1, integer=True),
        "perturbations": Number(low=1, integer=True),
        "n_masks": Number(low=4, integer=True),
        "batch_size": Number(low=1, integer=True),
        "validation_fraction": Number(low=0.0, low_open=True, high=0.9),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        operator_hidden: Sequence[int] = (60, 30, 20),
        selector_hidden: Sequence[int] = (100, 50, 10),
        max_iter: int = 15000,
        phase_two: int = 6000,
        patience: int = 600,
        perturbations: int = 2,
        n_masks: int = 32,
        batch_size: int = 32,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        learning_rate: float = 1e-3,
        standardize: bool = True,
        device: Any = None,
        task: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.operator_hidden = operator_hidden
        self.selector_hidden = selector_hidden
        self.max_iter = max_iter
        self.phase_two = phase_two
        self.patience = patience
        self.perturbations = perturbations
        self.n_masks = n_masks
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.learning_rate = learning_rate
        self.standardize = standardize
        self.device = device
        self.task = task
        self.random_state = random_state

    def _score(self, source: Samples) -> ScoredFeatures:
        data = self._network_data(source)
        fit = self._trained(source, data)
        return ScoredFeatures(
            scores=data.scores(fit.importances, fit.validation_loss),
            varies=data.varies,
            support=data.columns[fit.chosen],
            n_iter=fit.n_iter,
            converged=fit.stopped == "patience",
            attributes={
                "history_": np.array(fit.history),
                "validation_loss_": fit.validation_loss,
                "stopped_": fit.stopped,
                "device_": self.device_,
            },
        )

    def _trained(self, source: Samples, data: NetworkData) -> FirdlFit:
        settings = FirdlSettings(
            operator_hidden=tuple(self.operator_hidden),
            selector_hidden=tuple(self.selector_hidden),
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            n_masks=self.n_masks,
            phase_two=self.phase_two,
            perturbations=self.perturbations,
            max_iter=self.max_iter,
            patience=self.patience,
        )
        targets = source.required_targets
        Y = standardized(targets.Y) if targets.task == "regression" else targets.Y
        k = min(source.k, data.columns.size)
        with self._training() as (backend, rng, clock):
            scales = data.mean, data.inv_scale
            train, validation = (
                Part(Rows(data.X[part], *scales, backend), backend.tensor(Y[part]))
                for part in hold_out(_groups(targets), self.validation_fraction, rng)
            )
            return firdl(
                train, validation, targets.task, k, settings, backend, clock, source.monitor
            )


def _groups(targets: Targets) -> Index:
    """The class of every sample; one group for all where y holds no classes."""
    if targets.task == "classification":
        return targets.Y.argmax(axis=1)
    return np.zeros(targets.Y.shape[0], dtype=np.intp)
