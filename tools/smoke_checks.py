"""What must work where the wheel is installed with one extra: ``python -I smoke_checks.py EXTRA``.

Run by ``tools/smoke.py`` with the interpreter of an environment that has nothing else. It needs no
network, works in the current folder, and prints a line for each thing that was done.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable
from http.server import HTTPServer, SimpleHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Check = Callable[[], str]


def digits() -> tuple[Any, Any]:
    """The sample that scikit-learn brings: 64 pixels and ten classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def table(path: str, separator: str = ",") -> Path:
    """The digits as a delimited file, with the column `digit` to predict."""
    X, y = digits()
    header = separator.join([*(f"pixel{j}" for j in range(64)), "digit"])
    rows = [separator.join([*map(str, x), f"d{c}"]) for x, c in zip(X.tolist(), y, strict=True)]
    Path(path).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return Path(path)


def command(*arguments: str, code: int = 0) -> str:
    """What the installed command ``rowsparse`` writes; its exit code has to be `code`."""
    script = Path(sysconfig.get_path("scripts")) / "rowsparse"
    call = [str(script), *arguments]
    done = subprocess.run(
        call, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    written = done.stdout + done.stderr
    require(done.returncode == code, f"{' '.join(call)} ended with {done.returncode}: {written}")
    return written


def require(held: bool, message: str) -> None:
    if not held:
        raise SystemExit(f"smoke: FAILED: {message}")


# ------------------------------------------------------------------------------------ checks
def fits_and_proves() -> str:
    from rowsparse import TopK

    X, y = digits()
    selector = TopK(5, loss="squared", certify=True, random_state=0).fit(X, y)
    require(selector.get_support().sum() == 5, "TopK did not pick 5 features")
    require(selector.status_ == "optimal", f"TopK ended with {selector.status_}")
    return f"TopK picked 5 of 64 pixels, proven optimal: {selector.get_support(indices=True)}"


def every_selector_fits() -> str:
    from rowsparse import get_selector, list_selectors
    from rowsparse.selectors.registry import selector_info

    X, y = digits()
    names = [name for name in list_selectors() if selector_info(name).extra is None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parameters suit other data
        for name in names:
            get_selector(name, 5).fit(X[:100, 8:40], y[:100])
    return f"the {len(names)} selectors that need no extra fitted"


def command_without_typer() -> str:
    written = command("--version", code=2)
    require('pip install "rowsparse[cli]"' in written, f"the command said {written}")
    return f"the command says: {written.strip()}"


def command_answers() -> str:
    import rowsparse

    written = command("--version")
    require(rowsparse.__version__ in written, f"--version said {written}")
    require("topk" in command("methods"), "the list of methods has no topk")
    return f"rowsparse --version, methods: {written.strip()}"


def command_selects() -> str:
    from rowsparse.report import require_extra

    path = table("digits.csv")
    command("select", str(path), "-t", "digit", "-k", "5", "--out", "selected")
    command("apply", "selected", str(path), "--predict", "--out", "applied")
    has_report = Path("selected/report.html").exists()
    try:
        require_extra()
        require(has_report, "there is no report.html")
    except ImportError:
        require(not has_report, "there is a report.html without the extra")
    names = sorted(p.name for p in [*Path("selected").iterdir(), *Path("applied").iterdir()])
    return f"rowsparse select, apply wrote {', '.join(names)}"


def download_is_verified() -> str:
    from rowsparse.datasets import CorruptDataError, list_datasets, load

    Path("GLIOMA.mat").write_bytes(b"not the file of the catalogue")
    server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        load("glioma", cache_dir="cache", base_url=f"http://127.0.0.1:{server.server_port}")
    except CorruptDataError as error:
        return f"{len(list_datasets())} data sets listed; a wrong download is refused: {error}"
    finally:
        server.shutdown()
    raise SystemExit("smoke: FAILED: a wrong download was taken for a data set")


def pictures() -> str:
    from rowsparse import TopK
    from rowsparse.plotting import SelectionDisplay

    display = SelectionDisplay.from_estimator(TopK(5, random_state=0).fit(*digits()))
    display.figure_.savefig("selection.png")
    return f"SelectionDisplay: {Path('selection.png').stat().st_size} bytes"


def data_frames() -> str:
    import pandas
    import polars

    from rowsparse import TopK

    X, y = digits()
    names = [f"pixel{j}" for j in range(64)]
    for frame in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        selector = TopK(3, loss="squared", random_state=0).fit(frame, y)
        require(list(selector.feature_names_in_) == names, "the names of the columns are lost")
    return f"pandas and polars: {', '.join(selector.get_feature_names_out())}"


def selects_from(path: Path, target: str | None = "digit") -> str:
    """Read a file with the workflow and select from it."""
    from rowsparse.workflow.select import select
    from rowsparse.workflow.settings import SelectSettings, TableSettings
    from rowsparse.workflow.table import read_table

    read = read_table(path, TableSettings(target=target))
    result = select(read, SelectSettings(k=3))
    return f"{path.name}: {', '.join(f.name for f in result.features)}"


def delimited_and_arrow_tables() -> str:
    import polars

    frame = polars.read_csv(table("digits.csv"))
    frame.write_parquet("digits.parquet")
    return "; ".join(selects_from(Path(f"digits.{kind}")) for kind in ("csv", "parquet"))


def exact_proof() -> str:
    from rowsparse import TopK
    from rowsparse.certificate import verify

    X, y = digits()
    few = X[:60, 18:24], y[:60] > 4
    selector = TopK(2, loss="logistic", certify=True, random_state=0).fit(*few)
    checked = verify(*few, selector, exact=True)
    require(checked.gap <= 1e-6, f"the exact bound leaves a gap of {checked.gap}")
    return f"a proof was checked in exact arithmetic: {checked.bound:.6f}"


def excel_tables() -> str:
    import polars

    polars.read_csv(table("digits.csv")).write_excel("digits.xlsx")
    return selects_from(Path("digits.xlsx"))


def annotated_tables() -> str:
    import anndata

    X, y = digits()
    data = anndata.AnnData(X=X)
    data.obs["digit"] = [f"d{c}" for c in y]
    data.write_h5ad("digits.h5ad")
    return selects_from(Path("digits.h5ad"))


def row_blocks() -> str:
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rowsparse import RowBlocks, TopK

    X, y = digits()
    columns = {f"pixel{j}": X[:, j] for j in range(64)} | {"digit": y}
    pq.write_table(pa.table(columns), "digits.parquet")
    with h5py.File("digits.h5", "w") as file:
        file["X"], file["y"] = X, y.astype(float)
    from_parquet = TopK(3, loss="squared", random_state=0).fit(
        RowBlocks.from_table("digits.parquet", "digit")
    )
    from_hdf5 = TopK(3, loss="squared", random_state=0).fit(RowBlocks.from_hdf5("digits.h5", "y"))
    return f"Parquet: {from_parquet.get_support(indices=True)}, HDF5: {from_hdf5.n_features_in_}"


def dask_collections() -> str:
    import dask.array as da
    import numpy as np

    from rowsparse import TopK

    X, y = digits()
    lazy = TopK(3, loss="squared", random_state=0).fit(
        da.from_array(X, chunks=(100, 64)), da.from_array(y, 100)
    )
    whole = TopK(3, loss="squared", random_state=0).fit(X, y)
    require(np.array_equal(lazy.support_, whole.support_), "dask gives another answer")
    return f"three partitions give the answer of memory: {lazy.get_support(indices=True)}"


def network() -> str:
    from rowsparse import ConcreteAutoencoder

    X, _ = digits()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five epochs are too few to converge
        selector = ConcreteAutoencoder(3, max_iter=5, max_tries=1, random_state=0).fit(X)
    return f"ConcreteAutoencoder: {selector.get_support(indices=True)}"


#: What is checked with each extra, beside the fit and the command, which are checked with all.
CHECKS: dict[str, tuple[Check, ...]] = {
    "core": (every_selector_fits,),
    "cli": (command_selects,),
    "data": (download_is_verified,),
    "plot": (pictures,),
    "report": (pictures,),
    "tables": (data_frames, delimited_and_arrow_tables),
    "stream": (row_blocks,),
    "dask": (dask_collections,),
    "bio": (annotated_tables,),
    "excel": (excel_tables,),
    "exact": (exact_proof,),
    "all": (
        row_blocks,
        dask_collections,
        excel_tables,
        exact_proof,
        command_selects,
    ),
    "deep": (network,),
}


def run(extra: str) -> list[str]:
    """What was done, one line each."""
    answer = command_answers if find_spec("typer") else command_without_typer
    return [check() for check in (fits_and_proves, answer, *CHECKS[extra])]


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for line in run(sys.argv[1]):
        print(line, flush=True)
