"""The only place that knows which scikit-learn is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "finish_callbacks",
    "has_callbacks",
    "iteration_monitor",
    "with_callbacks",
]

F = TypeVar("F", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(method: F) -> F:
        """Leave the method alone where scikit-learn has no callbacks yet."""
        return method


def iteration_monitor(estimator: Any) -> Callable[..., bool]:
    """A monitor that tells the estimator's callbacks of every iteration.

    It answers whether one of them asked to stop. Without callbacks it costs nothing.
    """
    if not HAS_CALLBACKS:
        return _nobody
    context = estimator._init_callback_context(max_subtasks=None)
    if not has_callbacks(estimator):
        return _nobody
    context.call_on_fit_task_begin(estimator=estimator)

    def monitor(objective: float, /, **details: float) -> bool:
        step = context.subcontext(task_name="iteration")
        told = {"objective": objective, **details}
        step.call_on_fit_task_begin(estimator=estimator, metadata=told)
        return bool(step.call_on_fit_task_end(estimator=estimator, metadata=told))

    return monitor


def has_callbacks(estimator: Any) -> bool:
    """Whether somebody watches this estimator."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def _nobody(objective: float, /, **details: float) -> bool:
    return False


def finish_callbacks(estimator: Any) -> None:
    """Tell the estimator's callbacks that its fit is over."""
    if has_callbacks(estimator):
        estimator._callback_fit_ctx.call_on_fit_task_end(estimator=estimator)
