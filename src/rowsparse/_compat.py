"""Everything that depends on the version of scikit-learn."""

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
        """Replacement for scikit-learn < 1.9, which has no callbacks."""

    def with_callbacks(method: F) -> F:
        """Return the method unchanged: scikit-learn < 1.9 has no callbacks."""
        return method


def iteration_monitor(estimator: Any) -> Callable[..., bool]:
    """A monitor that tells the estimator's callbacks of every iteration.

    The monitor returns whether one of them asked to stop. Without callbacks it does nothing.
    """
    if not HAS_CALLBACKS:
        return _never_stop
    context = estimator._init_callback_context(max_subtasks=None)
    if not has_callbacks(estimator):
        return _never_stop
    context.call_on_fit_task_begin(estimator=estimator)

    def monitor(objective: float, /, **details: float) -> bool:
        step = context.subcontext(task_name="iteration")
        metadata = {"objective": objective, **details}
        step.call_on_fit_task_begin(estimator=estimator, metadata=metadata)
        return bool(step.call_on_fit_task_end(estimator=estimator, metadata=metadata))

    return monitor


def has_callbacks(estimator: Any) -> bool:
    """Whether callbacks are set on this estimator."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def _never_stop(objective: float, /, **details: float) -> bool:
    return False


def finish_callbacks(estimator: Any) -> None:
    """Tell the estimator's callbacks that its fit is over."""
    if has_callbacks(estimator):
        estimator._callback_fit_ctx.call_on_fit_task_end(estimator=estimator)
