"""The comments in the code of the guide say what comes out."""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np

GUIDE = Path(__file__).parents[1] / "docs" / "guide"


def values(page: str) -> list[Any]:
    """What the lines of a page evaluate to that are expressions, from top to bottom."""
    found: list[Any] = []
    names: dict[str, Any] = {}
    text = (GUIDE / f"{page}.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        try:
            found += _values_of(block, names, page)
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
    return found


def _values_of(block: str, names: dict[str, Any], page: str) -> list[Any]:
    found = []
    for line in ast.parse(block).body:
        if isinstance(line, ast.Expr):
            found.append(eval(compile(ast.Expression(line.value), page, "eval"), names))
        else:
            exec(compile(ast.Module([line], []), page, "exec"), names)
    return found


def test_class_weights_find_the_marks_of_the_rare_class() -> None:
    alike, balanced = values("imbalance")
    assert {8, 9, 10}.isdisjoint(alike)
    assert {8, 9, 10} <= set(balanced)


def test_groups_come_as_a_whole_and_included_columns_are_in() -> None:
    groups, rules, *_ = values("groups")
    assert groups.tolist() == [True, True, False, False, False, True]
    assert rules.size == 3
    assert 2 in rules
    assert 5 not in rules


def test_one_pass_over_the_blocks_is_enough() -> None:
    (selected, passes), *_ = values("large")
    assert selected.tolist() == [3, 7]
    assert passes == 1


def test_a_product_is_seen_by_relieff_or_as_a_column() -> None:
    topk, relieff, product = values("which_method")[-3:]
    assert {0, 1}.isdisjoint(topk)
    assert relieff.tolist() == [0, 1]
    assert product.tolist() == ["x0 x1"]


def test_words_of_both_classes_are_found_in_a_sparse_matrix() -> None:
    (words,) = values("text")
    assert np.isin(words, ["cat", "bank", "rate"]).all()


def test_the_corrected_step_is_lower(capsys: Any) -> None:
    values("corrected")
    assert capsys.readouterr().out.split()[1::2] == ["1.0", "0.781"]
