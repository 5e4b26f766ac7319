"""``python -m benchmarks [name ...] [--quick] [--out FILE.json] [--csv FOLDER]``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

NAMES = (
    "rfs",
    "prox",
    "cdlsr",
    "startup",
    "topk",
    "search",
    "proofs",
    "path_proofs",
    "near_optimal",
    "near_optimal_samples",
    "passes",
    "gpu",
    "scale",
    "dask_scale",
    "logistic",
    "logistic_proofs",
    "counts_and_survival",
    "clipping",
    "losses",
    "restarts",
    "ridge",
    "proof_first",
    "filters",
    "relief",
    "runner",
    "attack",
    "verdicts",
)
DEFAULT_OUT = Path(__file__).parent / "results" / "latest.json"
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time rowsparse against its targets and against other packages, on one thread.",
        epilog="Data sets come from the folder ROWSPARSE_DATA or the cache, see docs/datasets.md.",
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; or all")
    parser.add_argument("--quick", action="store_true", help="fewer data sets and repetitions")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where to write the JSON")
    parser.add_argument(
        "--csv", type=Path, help="folder of CSV files; the site's is docs/benchmarks"
    )
    parser.add_argument(
        "--from", dest="source", type=Path, help="show the JSON of an earlier run, run nothing"
    )
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return options


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    # Before the first import of NumPy, and for the processes that `startup` starts.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    from benchmarks.suite import run_suite, show_results

    if options.source:
        show_results(options.source, options.names or NAMES, options.csv)
    else:
        run_suite(options.names or NAMES, options.quick, options.out, options.csv)


if __name__ == "__main__":
    main(sys.argv[1:])
