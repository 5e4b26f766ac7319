"""Every paper declares work that can be done, and its page can be made from it."""

import json
from pathlib import Path

import pytest

from reproduction import PAPERS, get_paper
from reproduction.pages import write_page
from reproduction.store import ResultStore, read_rows

DOCS = Path(__file__).parents[2] / "docs"
KEPT = sorted([*DOCS.glob("reproduction/*.jsonl"), *DOCS.glob("league.csv")])


@pytest.mark.parametrize("name", PAPERS)
def test_tasks_are_distinct_and_can_be_written(name):
    paper = get_paper(name)
    for size in (paper.standard, paper.quick):
        tasks = [task for experiment in paper.experiments for task in experiment.tasks(size)]
        assert len({task.key for task in tasks}) == len(tasks) > 0
        for task in tasks:
            json.dumps(dict(task.options))
    assert len({experiment.name for experiment in paper.experiments}) == len(paper.experiments)


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_without_results_can_be_made(name, tmp_path):
    page = write_page(get_paper(name), {}, tmp_path)
    assert page.read_text().startswith("# ")


@pytest.mark.long
@pytest.mark.parametrize("name", PAPERS)
def test_the_first_task_of_each_experiment_runs(name, tmp_path, benchmark_data):
    paper = get_paper(name)
    for experiment in paper.experiments:
        task = experiment.tasks(paper.quick)[0]
        benchmark_data(task.dataset)
        rows = experiment.run(task)
        assert rows
        assert all(row["dataset"] == task.dataset and "error" not in row for row in rows)
        with ResultStore(tmp_path / "results.db", "quick") as store:
            store.put(task, rows, 0.0)
    with ResultStore(tmp_path / "results.db", "quick") as store:
        kept = {e.name: store.rows(e.name) for e in paper.experiments}
    write_page(paper, kept, tmp_path / "docs")


@pytest.mark.parametrize("rows", KEPT, ids=lambda path: path.stem)
@pytest.mark.usefixtures("undrawn")
def test_kept_pages_are_those_of_their_rows(rows, tmp_path):
    page = write_page(get_paper(rows.stem), read_rows(rows), tmp_path)
    assert page.read_text() == rows.with_suffix(".md").read_text(), (
        f"run `python -m reproduction {rows.stem} --rebuild --out {rows.parent}` again"
    )
    for picture in tmp_path.rglob("*.png"):
        assert (rows.parent / picture.relative_to(tmp_path)).exists()
    for table in tmp_path.rglob("*.csv"):
        assert table.read_text() == (rows.parent / table.relative_to(tmp_path)).read_text()


def test_an_unknown_paper_is_refused():
    with pytest.raises(ValueError, match="There is no paper 'nie2011'; there are nie2010"):
        get_paper("nie2011")
