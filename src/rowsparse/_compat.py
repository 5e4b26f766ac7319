"""Everything that depends on the version of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel

__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "finish_callbacks",
    "has_callbacks",
    "iteration_monitor",
    "parallel",
    "told",
    "with_callbacks",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

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
        step = context.subcontext(task_name="proof" if "nodes" in details else "iteration")
        metadata = {"objective": objective, **details}
        step.call_on_fit_task_begin(estimator=estimator, metadata=metadata)
        return bool(step.call_on_fit_task_end(estimator=estimator, metadata=metadata))

    return monitor


def told(estimator: Any, results: Iterable[T], n: int, task_name: str) -> Iterator[T]:
    """The n results of a meta-estimator, as they come; its callbacks are told of each."""
    if not HAS_CALLBACKS:
        yield from results
        return
    context = estimator._init_callback_context(max_subtasks=n)
    if not has_callbacks(estimator):
        yield from results
        return
    context.call_on_fit_task_begin(estimator=estimator)
    coming = iter(results)
    for _ in range(n):
        step = context.subcontext(task_name=task_name)
        step.call_on_fit_task_begin(estimator=estimator)
        result = next(coming)
        step.call_on_fit_task_end(estimator=estimator)
        yield result


def parallel(estimator: Any, tasks: Iterable[Any], **options: Any) -> Iterable[Any]:
    """The results of tasks of joblib; where callbacks wait for them, as they come."""
    if has_callbacks(estimator):
        options["return_as"] = "generator"
    results: Iterable[Any] = Parallel(n_jobs=estimator.n_jobs, **options)(tasks)
    return results


def has_callbacks(estimator: Any) -> bool:
    """Whether callbacks are set on this estimator."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def _never_stop(objective: float, /, **details: float) -> bool:
    return False


def finish_callbacks(estimator: Any) -> None:
    """Tell the estimator's callbacks that its fit is over."""
    if has_callbacks(estimator):
        estimator._callback_fit_ctx.call_on_fit_task_end(estimator=estimator)
