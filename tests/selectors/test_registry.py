"""The registry: every selector has one name, and the pages say of the selectors what is so."""

import re
from pathlib import Path

import pytest

import rowsparse
from rowsparse import get_selector, list_selectors
from rowsparse.selectors.base.selector import BaseSelector, LinearSelector
from rowsparse.selectors.registry import KINDS, register, selector_info
from rowsparse.targets import ASKED_TASKS, TASKS
from tests.selectors.cases import documented

ROOT = Path(__file__).parents[2]


def test_every_class_is_registered_and_public():
    registered = {selector_info(name).cls for name in list_selectors()}

    def concrete(cls: type) -> list[type]:
        """Classes that can be used; those derived from a registered one are no new methods."""
        if cls in registered:
            return [cls]
        below = [found for sub in cls.__subclasses__() for found in concrete(sub)]
        return below if getattr(cls, "__abstractmethods__", None) else [cls, *below]

    assert {cls for cls in concrete(BaseSelector) if cls.__module__.startswith("rowsparse.")} == (
        registered
    )
    for cls in registered:
        assert getattr(rowsparse, cls.__name__) is cls
        assert cls.__name__ in dir(rowsparse)


def test_list_selectors_by_task_and_kind():
    everything = list_selectors()
    assert everything == sorted(everything)
    assert sorted(name for kind in KINDS for name in list_selectors(kind=kind)) == everything
    assert set(list_selectors(task="regression", kind="sparse")) >= {"topk", "rfs"}
    with pytest.raises(ValueError, match=r"task must be one of 'classification'"):
        list_selectors(task="ranking")
    with pytest.raises(ValueError, match="kind must be one of"):
        list_selectors(kind="best")


def test_get_selector_by_any_spelling():
    assert repr(get_selector("Top-K", 4)) == "TopK(n_features_to_select=4)"
    with pytest.raises(ValueError, match="There is no selector 'topkk': did you mean 'topk'"):
        get_selector("topkk", 3)
    with pytest.raises(ValueError, match="see list_selectors"):
        get_selector("???", 3)
    with pytest.raises(TypeError, match="name must be the name of a selector"):
        get_selector(3, 3)
    with pytest.raises(TypeError, match="RFS has no parameter 'lam'; it has n_features_to_select"):
        get_selector("rfs", 3, lam=1.0)


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="The name 'topk' belongs to TopK already"):
        register("topk", kind="sparse", reference="")(type("Impostor", (), {}))
    with pytest.raises(ValueError, match="name must be of lower-case"):
        register("Top K", kind="sparse", reference="")


def test_the_registry_describes_a_selector():
    for name in list_selectors():
        info = selector_info(name)
        assert info.reference, name
        assert re.fullmatch(r"[A-Z][^\n]*\.", info.summary), name
        assert set(info.tasks) <= {*TASKS[1:], *ASKED_TASKS}, name


# ------------------------------------------------------------------ what the guide says
def test_the_guide_names_all_selectors_with_a_random_state():
    text = (ROOT / "docs" / "guide" / "stable.md").read_text(encoding="utf-8")
    (paragraph,) = [part for part in text.split("\n\n") if "comes from `random_state`" in part]
    infos = [selector_info(name) for name in list_selectors()]
    drawn = {info.cls.__name__ for info in infos if info.random}
    named = set(re.findall(r"`([A-Z]\w+)`", paragraph))
    assert named == drawn | {"TopKCV", "StabilitySelection"}


def test_the_guide_says_which_selectors_have_which_attributes():
    for name in list_selectors():
        info = selector_info(name)
        attributes = set(documented(info.cls, "Attributes"))
        linear = info.kind == "sparse" or name == "ridgeranking"
        assert linear == issubclass(info.cls, LinearSelector), name
        assert attributes >= {"support_", "ranking_", "scores_"}, name
        assert ({"coef_", "intercept_"} <= attributes) == linear, name
        assert "objective_" in attributes or not linear, name
        once = info.kind == "filter" or name in ("covariancethresholding", "allfeatures")
        assert attributes.isdisjoint({"history_", "n_iter_", "converged_"}) == once, name
        assert ({"history_", "n_iter_", "converged_"} <= attributes) != once, name
