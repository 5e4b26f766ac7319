"""Reading: every format gives the same table, and everything wrong has its sentence."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from rowsparse.workflow.errors import InputError, listed, shown
from rowsparse.workflow.labels import find_columns
from rowsparse.workflow.table import Table, read_table

N = 90


def planted(n: int = N, d: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.array(["healthy", "ill"])[(X[:, 1] + X[:, 4] - X[:, 6] > 0).astype(int)]


X, Y = planted()


def frame(**more: object) -> pl.DataFrame:
    columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    return pl.DataFrame({**columns, **more, "outcome": Y})


def csv(path: Path, table: pl.DataFrame) -> Path:
    table.write_csv(path)
    return path


def refusal(path: Path, target: str | None = "outcome", **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, target, **options)  # type: ignore[arg-type]
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence


# ------------------------------------------------------------------------------- every format
def write_every(folder: Path) -> dict[str, Path]:
    table = frame()
    paths = {kind: folder / f"table.{kind}" for kind in ("csv", "tsv", "parquet", "arrow")}
    table.write_csv(paths["csv"])
    table.write_csv(paths["tsv"], separator="\t")
    table.write_parquet(paths["parquet"])
    table.write_ipc(paths["arrow"])
    paths["feather"] = folder / "table.feather"
    table.write_ipc(paths["feather"], compression="lz4")
    paths["stream"] = folder / "stream.arrow"
    table.write_ipc_stream(paths["stream"])
    for kind in ("csv", "tsv"):
        paths[f"{kind}.gz"] = folder / f"packed.{kind}.gz"
        paths[f"{kind}.gz"].write_bytes(gzip.compress(paths[kind].read_bytes()))
    return paths


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "parquet", "arrow", "feather", "stream", "csv.gz", "tsv.gz"]
)
def test_every_table_format_gives_the_same_table(kind: str, tmp_path: Path) -> None:
    table = read_table(write_every(tmp_path)[kind], "outcome")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == [f"f{j}" for j in range(10)]
    assert table.y.tolist() == Y.tolist()
    assert table.target.classes == ("healthy", "ill")
    assert table.target.counts == (int((Y == "healthy").sum()), int((Y == "ill").sum()))
    assert table.notes == ()


def test_npz_with_and_without_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=Y, feature_names=np.array([f"g{j}" for j in range(10)]))
    np.savez(tmp_path / "b.npz", X=X.astype(np.float32), y=Y)
    named, plain = read_table(tmp_path / "a.npz"), read_table(tmp_path / "b.npz", "y")
    assert named.names[3] == "g3"
    assert plain.names[3] == "x3"
    assert plain.X.dtype == np.float32
    np.testing.assert_array_equal(named.X, X)
    assert named.task == plain.task == "classification"


def test_npz_with_several_labels(tmp_path: Path) -> None:
    labels = (X[:, :3] > 0).astype(int)
    np.savez(tmp_path / "a.npz", X=X, y=labels)
    table = read_table(tmp_path / "a.npz")
    assert table.task == "multilabel"
    assert table.target.names == ("y0", "y1", "y2")
    assert read_table(tmp_path / "a.npz", "y1").task == "classification"


@pytest.mark.parametrize("sparse", [False, True])
def test_mat(sparse: bool, tmp_path: Path) -> None:
    from scipy.io import savemat

    counts = np.maximum(np.round(X), 0)
    codes = (Y == "ill").astype(float)[:, None]
    savemat(tmp_path / "a.mat", {"X": sp.csc_array(counts) if sparse else counts, "Y": codes})
    table = read_table(tmp_path / "a.mat")
    assert sp.issparse(table.X) == sparse
    np.testing.assert_array_equal(table.X.toarray() if sparse else table.X, counts)
    assert table.target.classes == ("0", "1")


def test_mat_with_cells_of_text(tmp_path: Path) -> None:
    from scipy.io import savemat

    names = np.array([f"gene {j}" for j in range(10)], dtype=object)
    savemat(tmp_path / "a.mat", {"X": X, "Y": Y.astype(object), "feature_names": names})
    table = read_table(tmp_path / "a.mat")
    assert table.names[2] == "gene 2"
    assert table.target.classes == ("healthy", "ill")


def test_anndata_stays_sparse(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    counts = sp.csr_matrix(np.maximum(np.round(X), 0))
    obs = pd.DataFrame({"kind": pd.Categorical(Y)}, index=[f"cell{i}" for i in range(N)])
    var = pd.DataFrame(index=["TP53", *[f"g{j}" for j in range(1, 9)], "TP53"])
    anndata.AnnData(counts, obs=obs, var=var).write_h5ad(tmp_path / "a.h5ad")
    table = read_table(tmp_path / "a.h5ad", "kind")
    assert sp.issparse(table.X)
    assert table.names[-1] == "TP53 (2)"
    assert "1 variables share" in table.notes[0]
    assert table.target.classes == ("healthy", "ill")
    assert "--target" in refusal(tmp_path / "a.h5ad", None)


def test_missing_anndata(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "a.h5ad").write_bytes(b"x")
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[bio\]"'):
        read_table(tmp_path / "a.h5ad", "kind")


def test_missing_polars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    path = csv(tmp_path / "a.csv", frame())
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[tables\]"'):
        read_table(path, "outcome")


# ------------------------------------------------------------------------------ ways of writing
def read_text(tmp_path: Path, text: str | bytes, target: str = "y", name: str = "a.csv") -> Table:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, target)


ROWS = "\n".join(f"{i % 7 + 0.5},{(i * 3) % 5 + 0.25},{'ab'[i % 2]}" for i in range(20))


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    rows = ROWS.replace(",", ";").replace(".", ",")
    table = read_text(tmp_path, f"u;v;y\n{rows}\n")
    assert table.X[:2].tolist() == [[0.5, 0.25], [1.5, 3.25]]


def test_blanks_around_cells_and_names(tmp_path: Path) -> None:
    table = read_text(tmp_path, "u, v, y\n" + ROWS.replace(",", ", "))
    assert table.names == ["u", "v"]
    assert table.X[:2].tolist() == [[0.5, 0.25], [1.5, 3.25]]
    assert table.target.classes == ("a", "b")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    text = "größe,v,y\n" + ROWS.replace(",a", ",für").replace(",b", ",naïf")
    table = read_text(tmp_path, text.encode(encoding))
    assert table.names == ["größe", "v"]
    assert table.target.classes == ("für", "naïf")
    assert any("Windows-1252" in note for note in table.notes) == (encoding == "cp1252")


def test_windows_text_that_shows_only_far_down(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 5}.25,{'ab'[i % 2]}" for i in range(20000))
    table = read_text(tmp_path, f"u,v,y\n{rows}\n1.5,2.5,é\n".encode("cp1252"))
    assert table.target.classes == ("a", "b", "é")
    assert "Windows-1252" in table.notes[0]


def test_line_ends_of_windows_and_quoted_cells(tmp_path: Path) -> None:
    rows = "\r\n".join(
        f'{i % 7 + 0.5},"{(i * 3) % 5 + 0.25}","{"ab"[i % 2]}, or so"' for i in range(20)
    )
    table = read_text(tmp_path, f'"u, the first","v\r\nin two lines",y\r\n{rows}\r\n')
    assert table.names == ["u, the first", "v\r\nin two lines"]
    assert table.target.classes == ("a, or so", "b, or so")


def test_numbers_that_begin_with_a_gap(tmp_path: Path) -> None:
    rows = "\n".join(f"{'' if i < 8 else i % 5},{i % 3}.5,{'ab'[i % 2]}" for i in range(40))
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{rows}\n")
    assert "8 missing values in 1 of 2 columns" in refusal(path, "y")
    table = read_table(path, "y", impute="median")
    assert table.X[0, 0] == np.median([i % 5 for i in range(8, 40)])


def test_text_that_shows_only_far_down(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7}.5,{i % 3},{'ab'[i % 2]}" for i in range(300))
    path = tmp_path / "a.csv"
    path.write_text(f"u,v,y\n{rows}\n<0.01,2,a\n")
    sentence = refusal(path, "y")
    assert sentence == (
        "Column 'u' holds numbers, but text such as '<0.01' in 1 row: correct the file, or leave "
        "the column out with --drop."
    )
    assert read_table(path, "y", drop="u").names == ["v"]


def test_true_and_false_are_numbers(tmp_path: Path) -> None:
    rows = "\n".join(f"{'TRUE' if i % 3 else 'FALSE'},{i % 5}.5,{'ab'[i % 2]}" for i in range(30))
    table = read_text(tmp_path, f"u,v,y\n{rows}\n")
    assert table.names == ["u", "v"]
    assert set(table.X[:, 0].tolist()) == {0.0, 1.0}


# ------------------------------------------------------------------------------------- targets
def test_a_pattern_of_labels_is_multilabel(tmp_path: Path) -> None:
    labels = {f"label_{j}": (X[:, j] > 0).astype(int) for j in range(3)}
    path = csv(tmp_path / "a.csv", frame(**labels).drop("outcome"))
    for target in ("label_*", "label_0, label_1,label_2"):
        table = read_table(path, target)
        assert table.task == "multilabel"
        assert table.y.shape == (N, 3)
        assert table.target.classes == ("label_0", "label_1", "label_2")
    assert read_table(path, "label_*", task="regression").task == "regression"
    assert "one target column" in refusal(path, "label_*", task="classification")


def test_several_numbers_are_regression(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(s=X[:, 1] * 2, t=X[:, 2] + 1))
    table = read_table(path, "s,t", drop="outcome")
    assert table.task == "regression"
    assert table.y.shape == (N, 2)
    assert "0 or 1; 's' and 't'" in refusal(path, "s,t", task="multilabel")
    assert "'outcome' holds text" in refusal(path, "s,outcome")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.arange(N) % 3, "classification"),
        (np.arange(N) % 40, "regression"),
        ((np.arange(N) % 2).astype(float), "classification"),
        (np.linspace(0, 1, N), "regression"),
        (np.arange(N) % 2 == 0, "classification"),
    ],
)
def test_what_one_target_is(values: np.ndarray, task: str, tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(goal=values))
    table = read_table(path, "goal")
    assert table.task == task
    assert read_table(path, "goal", task="regression").task == "regression"
    assert read_table(path, "goal", task="classification").task == "classification"
    if task == "classification" and len(set(values.tolist())) > 2:
        assert "taken as classes" in table.notes[0]


def test_a_name_with_a_comma_is_found_whole() -> None:
    assert find_columns("--drop", "a,b", ["a,b", "a", "b"]) == ["a,b"]
    assert find_columns("--drop", "b,a", ["a", "b"]) == ["a", "b"]
    assert find_columns("--drop", "x[1]", ["x[1]", "x1"]) == ["x[1]"]
    assert find_columns("--drop", None, ["a"]) == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("outcom", "there is no column 'outcom' in the table; did you mean 'outcome'?"),
        ("label_*", "no column of the table matches 'label_*'."),
        (None, "Name the column to predict with --target; the table has 'f0'"),
        ("", "Name the column to predict with --target"),
    ],
)
def test_targets_that_are_not_there(target: str | None, words: str, tmp_path: Path) -> None:
    assert words in refusal(csv(tmp_path / "a.csv", frame()), target)


def test_target_refusals(tmp_path: Path) -> None:
    gap = frame(goal=[None, None, *range(N - 2)])
    path = csv(tmp_path / "a.csv", gap.with_columns(same=pl.lit("x")))
    assert refusal(path, "goal") == (
        "The target 'goal' is missing in 2 of 90 rows: remove those rows first."
    )
    assert refusal(path, "same") == (
        "The target 'same' is the same in every row: nothing to predict."
    )
    assert "holds text" in refusal(path, "outcome", task="regression")
    assert "several target columns" in refusal(path, "outcome", task="multilabel")
    assert "cannot be both" in refusal(path, "outcome", drop="outcome")
    assert "--drop: there is no column 'f99'" in refusal(path, "outcome", drop="f99")


# --------------------------------------------------------------------- gaps, text, identifiers
def test_missing_values_are_counted_and_the_worst_columns_named(tmp_path: Path) -> None:
    table = frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("f2")).alias("f2"),
        pl.when(pl.int_range(pl.len()) < 9).then(None).otherwise(pl.col("f7")).alias("f7"),
    )
    path = csv(tmp_path / "a.csv", table)
    assert refusal(path) == (
        "The table has 14 missing values in 2 of 10 columns, most in 'f7' (9) and 'f2' (5): fill "
        "them with --impute median, or leave columns out with --drop."
    )
    filled = read_table(path, "outcome", impute="median")
    assert filled.X[:9, 7].tolist() == [np.median(X[9:, 7])] * 9
    np.testing.assert_array_equal(filled.X[9:], X[9:])
    assert "14 missing values in 2 columns replaced by the median" in filled.notes[0]
    assert read_table(path, "outcome", drop="f2,f7").X.shape == (N, 8)


@pytest.mark.parametrize("mark", ["NA", "nan", "?", "N/A", "null"])
def test_words_for_nothing(mark: str, tmp_path: Path) -> None:
    text = frame().write_csv().splitlines()
    cells = text[3].split(",")
    text[3] = ",".join([mark, *cells[1:]])
    path = tmp_path / "a.csv"
    path.write_text("\n".join(text))
    assert "1 missing value in 1 of 10 columns, most in 'f0' (1)" in refusal(path)


def test_missing_categories(tmp_path: Path) -> None:
    colour = [None if i < 4 else ["red", "green", "green", "blue"][i % 4] for i in range(N)]
    path = csv(tmp_path / "a.csv", frame(colour=colour))
    assert "4 missing values in 1 of 11 columns, most in 'colour' (4)" in refusal(path)
    table = read_table(path, "outcome", impute="median")
    assert table.X[:4, table.names.index("colour=green")].tolist() == [1.0] * 4


def test_a_column_without_any_value(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(void=pl.Series([None] * N, dtype=pl.Float64)))
    assert "'void' (90)" in refusal(path)
    table = read_table(path, "outcome", impute="median")
    assert "void" not in table.names
    assert any("without any value: 'void'" in note for note in table.notes)


def test_infinity_is_refused(tmp_path: Path) -> None:
    bad = X.copy()
    bad[3, 2] = np.inf
    np.savez(tmp_path / "a.npz", X=bad, y=Y)
    assert refusal(tmp_path / "a.npz", None) == "'x2' holds infinity: clip or --drop."
    bad[3, 2] = np.nan
    np.savez(tmp_path / "a.npz", X=bad, y=Y)
    assert "1 missing value in 1 of 10 columns" in refusal(tmp_path / "a.npz", None)


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
    table = read_table(path, "outcome")
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
    table = read_table(path, "outcome")
    assert table.identifiers == ("column 1",)
    assert table.X.shape == (N, 10)


def test_keep_all_for_pixels(tmp_path: Path) -> None:
    pixels = np.column_stack([np.zeros(N), X, np.arange(N)])
    np.savez(tmp_path / "a.npz", X=pixels, y=Y)
    assert read_table(tmp_path / "a.npz").X.shape == (N, 10)
    assert read_table(tmp_path / "a.npz", keep_all=True).X.shape == (N, 12)


def test_categories_are_encoded_and_grouped(tmp_path: Path) -> None:
    colour = [["red", "green", "blue"][i % 3] for i in range(N)]
    sex = ["mf"[(i // 2) % 2] for i in range(N)]
    prose = [f"remark number {i % 70}" for i in range(N)]
    path = csv(tmp_path / "a.csv", frame(colour=colour, sex=sex, prose=prose))
    table = read_table(path, "outcome")
    assert table.names[10:] == ["colour=blue", "colour=green", "colour=red", "sex=m"]
    assert table.groups["colour"].tolist() == [10, 11, 12]
    assert "sex" not in table.groups
    np.testing.assert_array_equal(table.X[:, 12], [c == "red" for c in colour])
    assert table.origin(13) == "sex"
    assert table.origin(2) == "f2"
    assert table.columns_of("--include", "colour,f2") == [2, 10, 11, 12]
    assert table.columns_of("--include", "colour=red") == [12]
    assert "'prose', which holds text with many different values" in table.notes[0]
    assert "'colour' and 'sex' of categories: encoded as 4 columns" in table.notes[1]
    smaller = table.without([2, 10], "gone")
    assert smaller.groups["colour"].tolist() == [9, 10]
    assert smaller.origin(11) == "sex"


def test_dates_are_left_out(tmp_path: Path) -> None:
    from datetime import date

    frame(day=[date(2024, 1, 1 + i % 28) for i in range(N)]).write_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", "outcome")
    assert "day" not in table.names
    assert "'day', which holds neither numbers nor text" in table.notes[0]
    assert "neither numbers nor text" in refusal(tmp_path / "a.parquet", "day")


def test_types_of_parquet(tmp_path: Path) -> None:
    frame(
        flag=[i % 3 == 0 for i in range(N)],
        whole=pl.Series(np.arange(N) % 7, dtype=pl.Int32),
        kind=pl.Series(["ab"[i % 2] for i in range(N)], dtype=pl.Categorical),
    ).write_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", "outcome")
    assert table.names[10:] == ["flag", "whole", "kind=b"]
    assert table.X.dtype == np.float64


# ------------------------------------------------------------------------------ files that fail
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "'a.csv' is empty."),
        ("a.csv", b"  \n \n", "'a.csv' is empty."),
        ("a.csv", b"a,b,outcome\n", "The table has no rows: at least two are needed."),
        ("a.csv", b"a,b,outcome\n1,2,x\n", "The table has one row only: at least two are needed."),
        ("a.csv", b"a,b,a,outcome\n1,2,3,x\n", "'a.csv' has several columns of the name 'a'"),
        ("a.csv", b"a,outcome\n1,x\n2,y,3\n", "a row has more cells than there are column names"),
        ("a.csv", b"PAR1\x00\x01\x00", "'a.csv' is not a text file"),
        ("a.csv.gz", b"\x1f\x8b\x08garbage", "'a.csv.gz' is not a whole gzip file."),
        ("a.parquet", b"no parquet", "'a.parquet' cannot be read as Parquet"),
        ("a.arrow", b"no arrow", "'a.arrow' cannot be read as Arrow"),
        ("a.npz", b"no zip", "'a.npz' is not an NPZ file."),
        ("a.mat", b"no matlab file at all", "'a.mat' cannot be read as MAT"),
        ("a.xlsx", b"PK", "'a.xlsx' is of no known type: give a file that ends in .csv"),
        ("a.parquet.gz", b"x", "'a.parquet.gz' is of no known type"),
        ("noending", b"x", "'noending' is of no known type"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert words in refusal(tmp_path / name)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.csv").startswith("There is no file ")
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path / "folder.csv") == "'folder.csv' is a folder, not a file."


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"A": X, "y": Y}, "needs the arrays X and y; it has 'A' and 'y'."),
        ({"X": X}, "needs the arrays X and y; it has 'X'."),
        ({"X": X[0], "y": Y}, "must be a matrix of numbers"),
        ({"X": X, "y": Y[1:]}, "one row for each sample"),
        ({"X": X, "y": Y, "feature_names": np.array(["a"])}, "has 1 feature_names for 10 columns"),
        ({"X": X, "y": Y, "feature_names": np.array(["a"] * 10)}, "columns of the name 'a'"),
        ({"X": X, "y": np.array(list(Y), dtype=object)}, "holds Python objects"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit(arrays: dict[str, np.ndarray], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    assert words in refusal(tmp_path / "a.npz", None)


def test_nothing_left_to_select_from(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame())
    assert "No column is left to select from" in refusal(path, drop="f*")


def test_hostile_names_survive(tmp_path: Path) -> None:
    names = [
        "<script>alert(1)</script>",
        'quo"te',
        "new\nline",
        "🧬",
        "עברית",
        "n" * 10_000,
        "=1+1",
    ]
    table = frame().rename({f"f{j}": name for j, name in enumerate(names)})
    read = read_table(csv(tmp_path / "a.csv", table), "outcome")
    assert read.names[: len(names)] == names
    np.testing.assert_array_equal(read.X, X)


def test_names_in_sentences_are_short_and_on_one_line() -> None:
    assert len(shown("n" * 10_000)) < 80
    assert shown("a\nb\x1b[31m") == "'a\\nb\\x1b[31m'"
    assert "\u202e" not in shown("a\u202eb")
    assert listed(["a"]) == "'a'"


def test_a_wide_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 1000, (20, 20_000))
    path = tmp_path / "wide.csv"
    head = ",".join([*[f"g{j}" for j in range(20_000)], "outcome"])
    rows = [",".join(map(str, row)) + f",{'ab'[i % 2]}" for i, row in enumerate(wide.tolist())]
    path.write_text("\n".join([head, *rows]))
    table = read_table(path, "outcome")
    np.testing.assert_array_equal(table.X, wide)
