"""What is left out of a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.messages import InputError

from .files import N, X, Y, csv, frame, read, refusal


def test_identifiers_and_constants_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = csv(
        tmp_path / "a.csv",
        frame(
            name=[f"sample {i}" for i in range(N)],
            patient_id=rng.permutation(N) + 1000,
            row=np.arange(N),
            ones=np.ones(N),
            same=["x"] * N,
            count=rng.integers(0, 5, N),
        ),
    )
    table = read(path, "outcome")
    assert table.names == [*[f"f{j}" for j in range(10)], "count"]
    assert set(table.identifiers) == {"name", "patient_id", "row"}
    assert table.notes[-2:] == (
        "Left out as identifiers of the rows: 'name', 'patient_id' and 'row'.",
        "Left out, being the same in every row: 'ones' and 'same'.",
    )


def test_row_names_without_a_heading_are_identifiers(tmp_path: Path) -> None:
    lines = frame().write_csv().splitlines()
    text = [f",{lines[0]}", *[f"{i},{line}" for i, line in enumerate(lines[1:], start=1)]]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(text))
    table = read(path, "outcome")
    assert table.identifiers == ("column 1",)
    assert table.X.shape == (N, 10)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    gap = [None, *X[1:, 0].tolist()]
    words = [*map(str, X[:-1, 0].tolist()), "ND"]
    more = {"gap": gap, "w1": words, "w2": words[::-1], "goal": [None, *range(N - 1)]}
    path = csv(tmp_path / "a.csv", frame(**more))
    with pytest.raises(InputError) as caught:
        read(path, "outcome", drop="f77", groups_column="f1")
    assert str(caught.value).startswith("--drop: there is no column 'f77'")
    with pytest.raises(InputError) as caught:
        read(path, "nothing", drop="f77")
    assert [text.partition(":")[0] for text in caught.value.sentences] == ["--target", "--drop"]
    with pytest.raises(InputError) as caught:
        read(path, "goal", log="f*")
    problems = (
        "5 problems:\n- The target 'goal' is missing in 1 of 90 rows",
        "\n- Column 'w1' holds numbers, but 'ND' in line 91:",
        "\n- Column 'w2' holds numbers, but 'ND' in line 2:",
        "\n- --log: 'f0', 'f1', ",
        "\n- The table has 1 missing value in 1 of 14 columns",
    )
    assert all(problem in str(caught.value) for problem in problems)


def test_levels_have_an_order(tmp_path: Path) -> None:
    grades = ["high", "low", "mid", None, "low", "high"] * (N // 6)
    path = csv(tmp_path / "a.csv", frame(grade=grades, stage=[1, 2, 10] * (N // 3)))
    settings = {"levels": "grade = low<mid<high; stage=10<1<2", "impute": "most_frequent"}
    table = read(path, "outcome", **settings)
    known = {"high": 2.0, "low": 0.0, "mid": 1.0, None: 0.0}
    assert table.X[:, table.names.index("grade")].tolist() == [known[one] for one in grades]
    assert table.X[:3, table.names.index("stage")].tolist() == [1.0, 2.0, 0.0]
    assert "'grade' in the order low < mid < high." in table.notes
    assert table.column("stage").values == ("10", "1", "2")
    for levels, sentence in (
        ("grade=low<high", "--levels: 'grade' also holds 'mid': name all of its values"),
        ("grade", "--levels names a column and its values from low to high"),
        ("grade=low<low", "--levels names a column"),
        ("gade=low<high", "--levels: there is no column 'gade' in the table; did you mean 'grade'"),
        ("outcome=ill<healthy", "'outcome' cannot be both in --target and in --levels."),
    ):
        assert sentence in refusal(path, levels=levels)


def test_keep_all(tmp_path: Path) -> None:
    pixels = np.column_stack([np.zeros(N), X, np.arange(N)])
    np.savez(tmp_path / "a.npz", X=pixels, y=Y)
    assert read(tmp_path / "a.npz").X.shape == (N, 10)
    assert read(tmp_path / "a.npz", keep_all=True).X.shape == (N, 12)


def test_dates_are_left_out(tmp_path: Path) -> None:
    from datetime import date

    frame(day=[date(2024, 1, 1 + i % 28) for i in range(N)]).write_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", "outcome")
    assert "day" not in table.names
    assert table.notes == (
        "Left out: 'day', which holds dates; to use such a column, write it as a number, as in "
        "days since a fixed date.",
    )
    assert refusal(tmp_path / "a.parquet", "day").startswith("The target 'day' holds dates: write")
    with pytest.raises(InputError, match="include: 'day' was left out as it holds dates: write it"):
        table.columns_of("include", "day")
    text = csv(tmp_path / "a.csv", pl.read_parquet(tmp_path / "a.parquet"))
    assert read(text, "outcome").notes == table.notes


def test_what_is_neither_numbers_nor_text_is_left_out(tmp_path: Path) -> None:
    frame(pair=[[0.5, 1.5]] * N).write_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", "outcome")
    assert table.notes == ("Left out: 'pair', which holds neither numbers nor text.",)
    assert "neither numbers nor text" in refusal(tmp_path / "a.parquet", "pair")


def test_nothing_left_to_select_from(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame())
    assert "No column is left to select from" in refusal(path, drop="f*")


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("patient", "'patient' was left out as an identifier of the rows."),
        ("f1,outcome", "'outcome' is the target."),
        ("f9", "'f9' was left out with --drop."),
        ("ones", "'ones' was left out: it is the same in every row."),
        ("same", "'same' was left out: it is the same in every row."),
        ("prose", "'prose' was left out: it holds text with many different values."),
        ("pat*", "'patient' was left out as an identifier of the rows."),
        ("patience", "there is no column 'patience' in the table; it has 'f0', "),
    ],
)
def test_a_column_that_is_no_feature_is_told_why(wanted: str, reason: str, tmp_path: Path) -> None:
    more = {"patient": [f"p{i}" for i in range(N)], "ones": np.ones(N), "same": ["x"] * N}
    prose = [f"remark number {i % 70}" for i in range(N)]
    table = read(csv(tmp_path / "a.csv", frame(**more, prose=prose)), "outcome", drop="f9")
    with pytest.raises(InputError) as caught:
        table.columns_of("include", wanted)
    assert str(caught.value).startswith(f"--include: {reason}")


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_rows_without_a_target_are_left_out_and_counted(tmp_path: Path, suffix: str) -> None:
    goal = X[:, 1].copy()
    goal[[0, 7]] = np.nan
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        frame(goal=pl.Series(goal).fill_nan(None)).drop("outcome").write_csv(path)
    else:
        np.savez(path, X=X, y=goal)
    target = "goal" if suffix == "csv" else None
    assert "leave them out with --drop-missing-target." in refusal(path, target)
    table = read(path, target, drop_missing_target=True)
    np.testing.assert_allclose(table.y, np.delete(goal, [0, 7]))
    np.testing.assert_allclose(table.X, np.delete(X, [0, 7], axis=0))
    name = target or "y"
    assert f"Left out: 2 rows of {N} without a value of the target {name!r}." in table.notes


def test_places_are_those_of_the_file_where_rows_are_left_out(tmp_path: Path) -> None:
    words = [str(value) for value in X[:, 1]]
    words[20] = "lost"
    goal = [None, *Y[1:]]
    path = csv(tmp_path / "t.csv", frame(level=words).with_columns(outcome=pl.Series(goal)))
    assert "in line 22:" in refusal(path, drop_missing_target=True)


def test_no_row_with_a_target(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv", frame(goal=[None] * N))
    words = "No row has a value of the target 'goal'."
    assert refusal(path, "goal", drop_missing_target=True) == words
