"""Options become settings, and settings are named by flags that the commands have."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rowsparse.cli.options import CompareOptions, PathOptions, SelectOptions
from rowsparse.cli.settings import (
    compare_settings,
    flag,
    path_settings,
    select_settings,
    table_settings,
    with_flags,
)
from rowsparse.workflow.messages import InputError, Message, setting
from rowsparse.workflow.settings import (
    CompareSettings,
    PathSettings,
    SelectSettings,
    TableSettings,
)

from .commands import invoke, select

DATA = Path("a.csv")
# These follow from other options.
DERIVED = {"keep_all"}


@pytest.mark.parametrize(
    ("command", "kind"),
    [("select", SelectSettings), ("compare", CompareSettings), ("path", PathSettings)],
)
def test_every_setting_has_a_flag(command: str, kind: Any) -> None:
    words = invoke(command, "--help").stdout.replace(",", " ").split()
    for field in (*fields(kind), *fields(TableSettings)):
        assert field.name in DERIVED or flag(field.name) in words


def test_options_become_settings() -> None:
    options = SelectOptions(
        data=DATA, k="Auto", certify=True, proof=Path("p.npz"), alpha=2.0, image="3x4", jobs=2, cv=3
    )
    expected = SelectSettings(k="auto", certify=True, alpha=2.0, image_shape=(3, 4), n_jobs=2, cv=3)
    assert select_settings(options) == expected
    assert compare_settings(CompareOptions(data=DATA, k="5,1, 5", methods="a, b,a,")) == (
        CompareSettings(k=(1, 5), methods=("a", "b"))
    )
    assert path_settings(PathOptions(data=DATA, k_max=4, include="x", seed=3)) == PathSettings(
        k_max=4, include="x", seed=3
    )
    assert table_settings(PathOptions(data=DATA, target="y"), keep_all=True) == TableSettings(
        target="y", keep_all=True
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": "many"}, "-k must be a whole number or 'auto'; got 'many'."),
        ({"k": "0"}, "-k must be an integer of at least 1; got 0."),
        ({"k": "auto", "cv": 0}, "-k auto needs cross-validation: --cv must be at least 2."),
        ({"k": "2", "image": "0x5"}, "--image must be height x width, as in 28x28; got '0x5'."),
        ({"k": "2", "proof": Path("p")}, "--proof needs --certify: without it there is nothing"),
        (
            {"k": "2", "certify": True, "proof": Path("absent/p")},
            "--proof: there is no folder 'absent'.",
        ),
    ],
)
def test_refusals_name_flags(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        select_settings(SelectOptions(data=DATA, **options))
    assert with_flags(caught.value.message).startswith(sentence)


def test_a_sentence_without_settings_stays_as_it_is() -> None:
    assert with_flags("k and --drop") == "k and --drop"
    assert with_flags(Message("k stays.")) == "k stays."


def test_values_are_quoted_for_the_shell() -> None:
    for word, typed in (("<LOD", "--na-values '<LOD'"), ("-9", "--na-values=-9")):
        assert with_flags(Message(setting("na_values", word))) == typed


def test_warnings_of_selectors_name_flags(data: Path) -> None:
    numbers = np.random.default_rng(0).standard_normal((12, 40))
    table = pl.DataFrame({f"g{j}": numbers[:, j] for j in range(40)})
    table.with_columns(outcome=pl.Series(["a", "b"] * 6)).write_csv(data)
    done = select(data, "-k", "12", "--alpha", "0", "--loss", "squared", "--no-report")
    assert done.exit_code == 0
    assert "12 features fit 12 samples perfectly with --alpha 0" in done.stderr
    assert "take --alpha above 0 or fewer features." in done.stderr
    assert "=" not in done.stderr
