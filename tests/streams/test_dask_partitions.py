"""Dask collections give the answer of all samples in memory, on any scheduler."""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from rowsparse import (
    RFS,
    RPFS,
    FStatistic,
    RowBlocks,
    StabilitySelection,
    TopK,
    TopKCV,
    get_selector,
    list_selectors,
    topk_path,
)
from rowsparse.selectors.base import source
from rowsparse.selectors.base.selector import FromMoments
from rowsparse.selectors.registry import selector_info
from rowsparse.streams.dask_partitions import aggregate_partitions, dask_partitions, is_dask

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

METHODS = [name for name in list_selectors() if issubclass(selector_info(name).cls, FromMoments)]

rng = np.random.default_rng(0)
N, D = 120, 9
X = rng.standard_normal((N, D)) + 10.0 * rng.random(D)
Y = X[:, 0] - X[:, 3] + 0.3 * rng.standard_normal(N)
# Sorted: the last class appears in the last partitions only.
CLASSES = np.sort(np.digitize(Y, np.quantile(Y, [0.4, 0.8])))
WEIGHTS = rng.random(N) + 0.1
NAMES = [f"f{j}" for j in range(D)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def arrays(y: Any, columns: int = 4) -> tuple[Any, Any]:
    """X in chunks along both axes, and y in other chunks."""
    return da.from_array(X, chunks=(35, columns)), da.from_array(y, chunks=50)


def frames(y: Any, partitions: int = 4) -> tuple[Any, Any]:
    table = pd.DataFrame(X, columns=NAMES).assign(target=y)
    whole = dd.from_pandas(table, npartitions=partitions)
    return whole[NAMES], whole["target"]


def assert_same(found: Any, expected: Any, rtol: float = 1e-8) -> None:
    np.testing.assert_array_equal(found.support_, expected.support_)
    for name in ("scores_", "coef_", "intercept_", "objective_", "pvalues_"):
        if hasattr(expected, name):
            value = getattr(expected, name)
            np.testing.assert_allclose(getattr(found, name), value, rtol=rtol, atol=rtol)


# ------------------------------------------------------------------------ the same answer
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_method_on_chunks_along_both_axes(name: str, weighted: bool) -> None:
    options: dict[str, Any] = {"random_state": 0} if selector_info(name).random else {}
    options |= {"loss": "squared"} if name == "topk" else {}
    w = WEIGHTS if weighted else None
    if weighted and "class_weight" in get_selector(name, 3).get_params():
        options |= {"class_weight": "balanced"}
    selector = get_selector(name, 3, **options).fit(*arrays(CLASSES), w)
    expected = get_selector(name, 3, **options).fit(X, CLASSES, w)
    # MTFS and LpInf iterate to a tolerance.
    assert_same(selector, expected, 1e-4 if name in ("mtfs", "lpinf") else 1e-8)
    assert selector.n_passes_ == 1 + ("class_weight" in options)


def test_frames_with_names_and_late_classes_that_are_text() -> None:
    labels = np.array(["a", "b", "late"], dtype=object)[CLASSES]
    found = TopK(3, random_state=0, loss="squared").fit(*frames(labels))
    assert_same(found, TopK(3, random_state=0, loss="squared").fit(X, labels))
    read = RowBlocks.from_dask(*frames(labels)).blocks()
    np.testing.assert_array_equal(np.vstack([block.X for _, block in read]), X)
    assert found.feature_names_in_.tolist() == NAMES
    assert found.classes_.tolist() == ["a", "b", "late"]


def test_sparse_chunks_stay_sparse() -> None:
    draws = np.random.default_rng(0)
    wide = draws.random((N, 40)) * (draws.random((N, 40)) < 0.05)
    chunks = da.from_array(wide, chunks=(35, 15)).map_blocks(sp.csr_array)
    partitions = dask_partitions(chunks, Y, None)
    assert sp.issparse(partitions[1].compute().X)
    assert_same(TopK(3, random_state=0).fit(chunks, Y), TopK(3, random_state=0).fit(wide, Y))


def test_unknown_chunk_sizes_and_empty_partitions() -> None:
    table = pd.DataFrame(X, columns=NAMES).assign(target=Y)
    kept = dd.from_pandas(table, npartitions=6).query("f1 > 11.5 or index > 100")
    rows = table.query("f1 > 11.5 or index > 100")
    assert 0 in [len(part) for part in kept.partitions]
    expected = TopK(2, random_state=0).fit(rows[NAMES], rows["target"])
    assert_same(TopK(2, random_state=0).fit(kept[NAMES], kept["target"]), expected)
    lazy = kept[NAMES].to_dask_array()
    assert np.isnan(lazy.shape[0])
    assert_same(TopK(2, random_state=0).fit(lazy, kept["target"].to_dask_array()), expected)


def test_delayed_and_persisted_data() -> None:
    expected = TopK(3, random_state=0).fit(X, Y)
    assert_same(TopK(3, random_state=0).fit(*dask.persist(*arrays(Y))), expected)
    assert_same(TopK(3, random_state=0).fit(dask.delayed(X), dask.delayed(Y)), expected)
    blocks = RowBlocks.from_dask(*frames(Y))
    assert blocks.n_blocks == 4
    assert_same(TopK(3, random_state=0).fit(blocks), expected)


def test_the_path_and_the_choice_of_k_and_stability_are_those_of_a_stream() -> None:
    streamed = RowBlocks.from_arrays(X, CLASSES, rows=50)
    lazy, labels = arrays(CLASSES)
    path, expected = (
        topk_path(*data, 4, random_state=0, loss="squared")
        for data in ((lazy, labels), (X, CLASSES))
    )
    np.testing.assert_allclose(path.objectives, expected.objectives)
    chosen, known = (
        TopKCV(k_max=4, random_state=0, loss="squared").fit(*data)
        for data in ((lazy, labels), (streamed,))
    )
    assert_same(chosen, known)
    scores = [found.cv_results_["mean_test_score"] for found in (chosen, known)]
    np.testing.assert_allclose(*scores)
    stable = [
        StabilitySelection(TopK(2, loss="squared"), n_subsamples=10, random_state=0)
        .fit(*data)
        .frequencies_
        for data in ((lazy, labels), (streamed,))
    ]
    np.testing.assert_array_equal(*stable)


def test_too_many_columns_for_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_PRODUCTS", 5)
    found = TopK(3, random_state=0).fit(*arrays(Y))
    assert_same(found, TopK(3, random_state=0).fit(X, Y))
    assert found.n_passes_ > 1


def test_what_x_and_y_share_is_computed_once() -> None:
    calls = list[int]()

    def generated(block_info: Any = None) -> Any:
        start, stop = block_info[None]["array-location"][0]
        calls.append(start)
        return X[start:stop]

    lazy = da.map_blocks(generated, chunks=((40, 40, 40), (D,)), dtype=float, meta=X[:0])
    calls.clear()
    found = FStatistic(1).fit(lazy, lazy[:, 2] + lazy[:, 2] ** 2)
    assert found.get_support(indices=True).tolist() == [2]
    assert sorted(calls) == [0, 40, 80]


# --------------------------------------------------------------------------- the graph
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_neighbours_are_merged_in_order(n: int) -> None:
    partitions = dask_partitions(da.zeros((n, 1), chunks=1), da.zeros(n, chunks=1), None)
    merges = list[tuple[str, str]]()

    def merge(a: str, b: str) -> str:
        merges.append((a, b))
        return f"({a}{b})"

    text = aggregate_partitions(partitions, lambda state, block, number: str(number), merge)
    assert "".join(c for c in text if c.isdigit()) == "".join(map(str, range(n)))
    assert len(merges) == n - 1
    if n == 7:
        assert text == "(((01)(23))((45)6))"


# ----------------------------------------------------------------------------- transform
def test_transform_is_lazy_and_has_the_selected_columns() -> None:
    selector = TopK(2, random_state=0).fit(*frames(Y))
    for lazy in (arrays(Y)[0], frames(Y)[0]):
        found = selector.transform(lazy)
        assert is_dask(found)
        np.testing.assert_array_equal(found.compute(), X[:, selector.support_])
    # Any selector does it, however it was fitted.
    robust = RFS(2).fit(X, CLASSES)
    np.testing.assert_array_equal(
        robust.transform(arrays(Y)[0]).compute(), X[:, robust.get_support()]
    )
    with pytest.raises(ValueError, match="X has 3 features, but 9 were expected"):
        selector.transform(arrays(Y)[0][:, :3])
    with pytest.raises(ValueError, match="in their order"):
        selector.transform(frames(Y)[0][NAMES[::-1]])
    with pytest.raises(TypeError, match="X is delayed"):
        selector.transform(dask.delayed(X))


# ----------------------------------------------------------------------------- bad input
def test_a_column_without_values_in_one_partition_is_named() -> None:
    table = pd.DataFrame(X, columns=NAMES).assign(target=Y)
    table.loc[60:89, "f4"] = np.nan
    whole = dd.from_pandas(table, npartitions=4)
    selector = TopK(2, random_state=0)
    with pytest.raises(ValueError, match=r"^Partition 2: X contains NaN in column 'f4'"):
        selector.fit(whole[NAMES], whole["target"])
    assert not hasattr(selector, "support_")
    with pytest.raises(ValueError, match="Partition 2: y contains NaN"):
        TopKCV(k_max=2).fit(whole[NAMES], whole["f4"])


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (lambda: (arrays(Y)[0], None), ValueError, "y is None"),
        (lambda: (arrays(Y)[0], Y[:50]), ValueError, "y has 50 samples but X has 120"),
        (lambda: (arrays(Y)[0], Y, Y[:9]), ValueError, "sample_weight has 9 samples but X has 120"),
        (lambda: (frames(Y)[0], Y), TypeError, "y is no dask collection"),
        (lambda: (frames(Y)[0], frames(Y, 3)[1]), ValueError, "y has 3 partitions but X has 4"),
        (lambda: (arrays(Y)[1], Y), ValueError, "X must have two dimensions"),
        (lambda: (frames(Y)[0], da.from_array(Y)), ValueError, "y has 1 partitions but X has 4"),
    ],
)
def test_collections_that_do_not_fit_together(data: Any, error: Any, message: str) -> None:
    given = data()
    with pytest.raises(error, match=message):
        TopK(2).fit(*given)


def test_a_partition_with_fewer_columns_than_it_should_have_is_named() -> None:
    pieces = [X[:60], X[60:, :5]]
    lazy = [da.from_delayed(dask.delayed(piece), shape=(60, D), dtype=float) for piece in pieces]
    with pytest.raises(ValueError, match=r"^Partition 1: X has 5 columns, but there must be 9"):
        TopK(2).fit(da.concatenate(lazy), Y)


def test_what_needs_the_samples_is_refused() -> None:
    with pytest.raises(TypeError, match=r"RPFS needs all samples at once .* dask collections"):
        RPFS(2).fit(*arrays(CLASSES))
    with pytest.raises(ValueError, match="loss='logistic' needs the samples"):
        TopK(2, loss="logistic").fit(*arrays(CLASSES))
    for selector in (TopKCV(k_max=2), StabilitySelection(TopK(2))):
        with pytest.raises(ValueError, match="groups cannot be used with dask"):
            selector.fit(*arrays(CLASSES), groups=CLASSES)
    with pytest.raises(TypeError, match="X must be a dask array or dataframe"):
        RowBlocks.from_dask(X, Y)
    with pytest.raises(TypeError, match="must be a dask array or dataframe"):
        TopK(2).fit(pytest.importorskip("dask.bag").from_sequence([1, 2]), Y)


def test_the_extra_is_named_where_dask_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "dask"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"rowsparse\[dask\]"):
        RowBlocks.from_dask(X, Y)


# ---------------------------------------------------------------- a cluster of processes
@pytest.fixture
def on_cluster(one_thread: None) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with distributed.Client(cluster) as client, dask.config.set(scheduler=client.get):
        yield client
    # distributed 2024.8 fails to start a killed worker again, and would wait for it for ever.
    with suppress(TimeoutError):
        cluster.close(timeout=20)


def slowly(block: Any, folder: str) -> Any:
    """The block, after a while; leaves a file that says it was begun."""
    handle, _ = tempfile.mkstemp(dir=folder)
    os.close(handle)
    time.sleep(0.1)
    return block


@pytest.mark.long
def test_two_processes_give_the_answer_of_memory(on_cluster: Any) -> None:
    pids = set(on_cluster.run(os.getpid).values())
    assert len(pids) == 2
    assert os.getpid() not in pids
    for data in (arrays(CLASSES), frames(CLASSES)):
        found = TopK(3, certify=True, random_state=0).fit(*data)
        assert_same(found, TopK(3, loss="squared", certify=True, random_state=0).fit(X, CLASSES))
    lazy, labels = arrays(CLASSES)
    weighted = TopK(3, random_state=0).fit(lazy, labels, da.from_array(WEIGHTS, chunks=40))
    assert_same(weighted, TopK(3, loss="squared", random_state=0).fit(X, CLASSES, WEIGHTS))
    robust = RFS(3, gamma=20.0, solver="irls", tol=1e-3)
    assert_same(robust.fit(lazy, labels), clone(robust).fit(X, CLASSES), 1e-3)
    chosen = TopKCV(k_max=4, random_state=0).fit(*on_cluster.persist(arrays(CLASSES)))
    assert_same(chosen, TopKCV(k_max=4, random_state=0).fit(RowBlocks.from_arrays(X, CLASSES)))


@pytest.mark.long
@pytest.mark.posix
def test_a_killed_worker_does_not_change_the_answer(on_cluster: Any, tmp_path: Path) -> None:
    lazy = da.from_array(X, chunks=(5, D)).map_blocks(slowly, folder=str(tmp_path), dtype=float)
    victim = next(iter(on_cluster.run(os.getpid).values()))
    killed = threading.Event()

    def kill() -> None:
        while len(list(tmp_path.iterdir())) < 6:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)
        killed.set()

    threading.Thread(target=kill, daemon=True).start()
    found = TopK(3, random_state=0).fit(lazy, Y)
    assert killed.is_set()
    assert_same(found, TopK(3, random_state=0).fit(X, Y))
    assert victim not in on_cluster.run(os.getpid).values()


@pytest.mark.long
def test_an_error_on_a_worker_names_column_and_partition(on_cluster: Any) -> None:
    bad = X.copy()
    bad[35:70, 4] = np.nan
    with pytest.raises(ValueError, match=r"^Partition 1: X contains NaN in column 4"):
        TopK(2).fit(da.from_array(bad, chunks=(35, 4)), Y)
