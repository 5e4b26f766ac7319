"""``python -m benchmarks.field [part ...] [--rebuild] [--limit SECONDS] [--out FOLDER]``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.__main__ import THREAD_VARIABLES
from benchmarks.field.cases import LIMIT, MEMORY, PARTS
from benchmarks.field.clocks import count_processor_seconds

DOCS = Path(__file__).parents[2] / "docs"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.field",
        description="Compare with other packages, each run in a process of its own on one thread.",
        epilog="Runs that have a row in field.csv are not run again; remove the row to do so.",
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; or all")
    parser.add_argument("--rebuild", action="store_true", help="run nothing, write the page")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds of a run")
    parser.add_argument("--memory", type=int, default=MEMORY, help="bytes of a run")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of field.csv and field.md")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part is named {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return options


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    # For this process and those that it starts, before the first import of NumPy.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    count_processor_seconds()
    from benchmarks.field.cases import all_cases
    from benchmarks.field.page import write_page
    from benchmarks.field.runner import run_cases

    if not options.rebuild:
        wanted = options.parts or PARTS
        cases = [case for case in all_cases() if case.part in wanted]
        try:
            run_cases(cases, options.out / "field.csv", options.limit, options.memory)
        except ValueError as error:
            sys.exit(f"python -m benchmarks.field: {error}")
    write_page(options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
