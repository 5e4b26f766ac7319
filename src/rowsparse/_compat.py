"""The only place that knows which scikit-learn is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "finish_callbacks",
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


def iteration_monitor(estimator: Any) -> Callable[[float], bool]:
    """A monitor that tells the estimator's callbacks of every iteration.

    It answers whether one of them asked to stop. Without callbacks it costs nothing.
    """
    if not HAS_CALLBACKS:
        return lambda objective: False
    context = estimator._init_callback_context(max_subtasks=None)
    if not getattr(estimator, "_skl_callbacks", None):
        return lambda objective: False
    context.call_on_fit_task_begin(estimator=estimator)

    def monitor(objective: float) -> bool:
        step = context.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=estimator, metadata={"objective": objective})
        return bool(
            step.call_on_fit_task_end(estimator=estimator, metadata={"objective": objective})
        )

    return monitor


def finish_callbacks(estimator: Any) -> None:
    """Tell the estimator's callbacks that its fit is over."""
    if getattr(estimator, "_skl_callbacks", None):
        estimator._callback_fit_ctx.call_on_fit_task_end(estimator=estimator)
