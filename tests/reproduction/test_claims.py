"""The table that each page opens with: what the kept rows say of the sentences of a paper."""

from pathlib import Path

import numpy as np
import pytest

from reproduction import PAPERS, get_paper
from reproduction.claims import FAILS, HOLDS, MOSTLY, OPEN
from reproduction.store import read_rows

DOCS = Path(__file__).parents[2] / "docs" / "reproduction"
# The words of a verdict, or of those on several protocols or variants.
VERDICTS = {
    "nie2010": [FAILS, (HOLDS, FAILS), FAILS, HOLDS, (HOLDS, FAILS)],
    "cai2013": [(FAILS, MOSTLY), FAILS, FAILS, FAILS, HOLDS, FAILS],
    "kong2014": [
        *(FAILS, FAILS, (FAILS, MOSTLY), (FAILS, HOLDS), FAILS),
        *((FAILS, MOSTLY), (FAILS, HOLDS), (FAILS, MOSTLY), MOSTLY, (MOSTLY, HOLDS)),
    ],
    "an2021": [FAILS, FAILS, FAILS, FAILS, FAILS, HOLDS, HOLDS],
    "xu2023": [(HOLDS, MOSTLY, MOSTLY), HOLDS, FAILS, FAILS, MOSTLY, HOLDS, HOLDS],
}


def kept(name):
    return read_rows(DOCS / f"{name}.jsonl")


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts_follow_from_the_kept_rows(name):
    found = get_paper(name).page(kept(name))["claims"]
    verdicts = [claim.verdict for claim in found]
    words = [tuple(v.rpartition(": ")[2] for v in text.split("; ")) for text in verdicts]
    assert [own[0] if len(own) == 1 else own for own in words] == VERDICTS[name]
    page = (DOCS / f"{name}.md").read_text("utf-8")
    first_table = page[page.index("\n|") + 1 :].partition("\n\n")[0].splitlines()
    assert first_table[0] == "| The paper says | printed | here | verdict |"
    assert [line.rpartition("| **")[2][:-4] for line in first_table[2:]] == verdicts


def test_every_paper_has_claims_and_none_holds_without_rows():
    assert {*VERDICTS} == {*PAPERS} - {"league"}
    for name in VERDICTS:
        assert {claim.verdict for claim in get_paper(name).page({})["claims"]} == {OPEN}


def test_places_of_cdlsr_are_those_among_the_rivals_of_the_paper():
    """The rule of the paper, from the rows: its start of the highest accuracy, a linear SVM."""
    rows, ks, rivals = kept("xu2023"), (5, 20, 80), {}
    for row in rows["figure3"]:
        judged = row.get("estimator") == "linear SVM" and row.get("k") in ks
        if judged and row["protocol"] == "published":
            cell = (row["dataset"], row["method"], row["k"])
            rivals.setdefault(cell, []).append(100 * row["accuracy"])
    means = {cell: float(np.mean(found)) for cell, found in rivals.items()}
    ours = {
        (row["dataset"], row["k"]): 100 * max(row["accuracies"])
        for row in rows["starts"]
        if row["estimator"] == "linear SVM"
    }
    # The values of a grid are one rival, a method without a grid is one of its own.
    families: dict[str, list[str]] = {}
    for method in {method for _, method, _ in means}:
        name, grid, _ = method.partition(" ")
        if name not in ("topk", "cdlsr", "allfeatures"):
            families.setdefault(name + grid, []).append(method)
    at_most_one_above = 0
    for dataset in {dataset for dataset, _ in ours}:
        own = np.mean([ours[dataset, k] for k in ks])
        # The best setting of a family for each k, as on the page.
        best = [
            np.mean([max(means.get((dataset, m, k), 0.0) for m in methods) for k in ks])
            for methods in families.values()
        ]
        at_most_one_above += sum(value > own for value in best) <= 1
    claim = get_paper("xu2023").page(rows)["claims"][0]
    assert f"highest accuracy: {at_most_one_above} of 6" in claim.here


def test_no_start_of_rpfs_is_missing():
    starts = {}
    for row in kept("cai2013")["table2"]:
        assert "error" not in row
        if row["method"] == "rpfs published":
            cell = row["dataset"], row["k"]
            starts[cell] = starts.get(cell, 0) + len(row["objectives"])
    assert len(starts) == 16
    assert set(starts.values()) == {50}
