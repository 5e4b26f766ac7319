"""Try the built wheel: ``python -m tools.smoke dist/NAME.whl [EXTRA ...] [--pin NAME==VERSION]``.

Every extra gets a new environment with the wheel and nothing else, in which
``tools/smoke_checks.py`` is run away from the source tree. Ends with 1 if one of them fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from time import perf_counter

from tools.smoke_checks import CHECKS

CHECKS_FILE = Path(__file__).with_name("smoke_checks.py")
#: Not tried unless named: PyTorch is a download of gigabytes on most systems.
ON_REQUEST = {"deep"}
DEFAULT = [extra for extra in CHECKS if extra not in ON_REQUEST]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.smoke", description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"of {', '.join(CHECKS)}")
    parser.add_argument("--pin", action="append", default=[], help="also install, as numpy==2.0.0")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.extras) - set(CHECKS))
    if unknown:
        parser.error(f"no extra is named {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    if not options.wheel.is_file():
        parser.error(f"there is no wheel {options.wheel}; `make dist` builds it")
    return options


def requirement(wheel: Path, extra: str) -> str:
    """What pip installs: the wheel, and the packages of the extra."""
    chosen = "" if extra == "core" else f"[{extra}]"
    return f"rowsparse{chosen} @ {wheel.resolve().as_uri()}"


def interpreter(environment: Path) -> Path:
    """The Python of a virtual environment."""
    windows = environment / "Scripts" / "python.exe"
    return windows if os.name == "nt" else environment / "bin" / "python"


def clean_environment() -> dict[str, str]:
    """The variables of this process but for those that lead Python to other packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "ROWSPARSE_DATA")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def attempt(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`."""
    return subprocess.run(
        command,
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def try_extra(wheel: Path, extra: str, pins: list[str]) -> bool:
    """Install the wheel with an extra, run its checks and print what was done."""
    start = perf_counter()
    with tempfile.TemporaryDirectory(prefix="rowsparse-smoke-") as name:
        environment, work = Path(name) / "environment", Path(name) / "work"
        work.mkdir()
        venv.create(environment, with_pip=True)
        python = str(interpreter(environment))
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        done = attempt([*pip, "install", *pins, requirement(wheel, extra)], work)
        if done.returncode == 0:
            print(f"smoke: {extra}: installed in {perf_counter() - start:.0f} s", flush=True)
            done = attempt([python, "-I", str(CHECKS_FILE), extra], work)
    failed = done.returncode != 0
    for line in (done.stdout + (done.stderr if failed else "")).splitlines():
        print(f"smoke: {extra}: {line}", flush=True)
    return not failed


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    extras = options.extras or DEFAULT
    failed = [extra for extra in extras if not try_extra(options.wheel, extra, options.pin)]
    verdict = f"; failed: {', '.join(failed)}" if failed else ""
    print(f"smoke: {len(extras) - len(failed)} of {len(extras)} environments passed{verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
