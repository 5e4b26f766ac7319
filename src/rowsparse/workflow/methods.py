"""A selector for a table, out of the options of a command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from rowsparse.selectors import SelectorInfo, get_selector, selector_info
from rowsparse.workflow.errors import InputError, listed
from rowsparse.workflow.table import Table

__all__ = ["Plan", "known_method", "make_plan"]

# Seconds for a proof unless told otherwise.
PROOF_SECONDS = 10.0


@dataclass(frozen=True)
class Plan:
    """A method with its settings, and the table as it will see it."""

    info: SelectorInfo
    table: Table
    params: dict[str, Any]

    @property
    def name(self) -> str:
        """What the method is called."""
        return str(self.info.cls.__name__)

    @property
    def n_forced(self) -> int:
        """How many must be selected, those of a category counted once."""
        return self.table.n_units_of(self.params.get("include", ()))

    @property
    def n_free(self) -> int:
        """How many may be selected, counted likewise."""
        return self.table.n_units - self.table.n_units_of(self.params.get("exclude", ()))

    def selector(self, k: int) -> Any:
        """The selector for the answer."""
        return get_selector(self.info.name, k, **self.params)

    def quick(self, k: int) -> Any:
        """The selector for the many fits on parts of the samples: no restarts, no proof."""
        params = dict(self.params)
        if self.info.name == "topk":
            params |= {"certify": False, "keep_proof": False}
            params |= {"time_limit": None, "n_restarts": 0}
        return get_selector(self.info.name, k, **params)


def known_method(name: str, task: str) -> SelectorInfo:
    """The method of that name, if it takes such targets and is installed."""
    info = selector_info(name)
    if task not in info.tasks:
        raise InputError(
            f"{info.cls.__name__} takes targets for {' or '.join(info.tasks)}; these are for "
            f"{task}."
        )
    return info


def make_plan(
    table: Table,
    method: str = "topk",
    *,
    certify: bool = False,
    keep_proof: bool = False,
    alpha: float | None = None,
    include: str | None = None,
    exclude: str | None = None,
    time_limit: float | None = None,
    seed: int = 0,
) -> Plan:
    """Settle how a method will be called, and refuse options that it does not have."""
    info = known_method(method, table.task)
    accepted = signature(info.cls).parameters
    if certify and table.groups:
        raise InputError(
            f"Nothing can be proven of groups, and {listed(list(table.groups))} is encoded as one: "
            "leave --certify out, or the column with --drop."
        )
    asked = {"certify": certify, "alpha": alpha, "include": include, "time_limit": time_limit}
    for option, value in asked.items():
        if value not in (None, False, "") and option not in accepted:
            raise InputError(
                f"{info.cls.__name__} has no --{option.replace('_', '-')}: leave it out, or take "
                "--method topk."
            )
    params: dict[str, Any] = {}
    if "task" in accepted:
        params["task"] = table.task
    if "random_state" in accepted:
        params["random_state"] = seed
    if alpha is not None:
        params["alpha"] = alpha
    if certify:
        params |= {"certify": True, "time_limit": time_limit or PROOF_SECONDS}
        params["keep_proof"] = keep_proof
    elif time_limit is not None:
        params["time_limit"] = time_limit
    barred = table.columns_of("--exclude", exclude)
    wanted = table.columns_of("--include", include)
    both = sorted(set(barred) & set(wanted))
    if both:
        raise InputError(f"--include and --exclude overlap in {listed([table.names[both[0]]])}.")
    if barred and "exclude" not in accepted:
        table = table.without(barred, f"{len(barred)} columns were excluded before selecting.")
    elif barred:
        params["exclude"] = barred
    if wanted:
        params["include"] = wanted
    return _with_groups(Plan(info, table, params), "feature_groups" in accepted)


def _with_groups(plan: Plan, taken: bool) -> Plan:
    """Categories as groups, or a sentence on what happens without."""
    table = plan.table
    if not table.groups:
        return plan
    names = listed(list(table.groups))
    if taken:
        note = f"The columns made of {names} are selected together or not at all, and count once."
        groups = [part.tolist() for part in table.groups.values()]
        plan = replace(plan, params=plan.params | {"feature_groups": groups})
    else:
        note = f"{plan.name} knows no groups: of {names} it may select single values."
    return replace(plan, table=replace(table, notes=(*table.notes, note)))
