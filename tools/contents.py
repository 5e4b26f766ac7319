"""Check what is inside the built files: ``python -m tools.contents dist``.

The wheel has the package and nothing else; the sdist has the files that git tracks, all of
them, so that the tests run from it. Ends with 1 and names what is wrong.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def names_in(path: Path) -> set[str]:
    """The files in a wheel, or in an sdist without its first folder."""
    if path.suffix == ".whl":
        return set(zipfile.ZipFile(path).namelist())
    with tarfile.open(path) as archive:
        files = [member.name for member in archive if member.isfile()]
    return {name.partition("/")[2] for name in files}


def problems(wheel: set[str], sdist: set[str], tracked: set[str]) -> list[str]:
    """What the wheel and the sdist lack or have too much of, one sentence each."""
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/rowsparse/")}
    inside = {name for name in wheel if ".dist-info/" not in name}
    found = [f"the wheel has {name}, which is no part of the package" for name in inside - package]
    found += [f"the wheel lacks {name}" for name in package - inside]
    found += [f"the sdist lacks {name}" for name in tracked - sdist]
    others = sdist - tracked - {"PKG-INFO"}
    found += [f"the sdist has {name}, which git does not track" for name in others]
    return sorted(found)


def tracked_files() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, encoding="utf-8"
    )
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    inside = names_in(wheel), names_in(sdist)
    found = problems(*inside, tracked_files())
    for name, files in zip((wheel.name, sdist.name), inside, strict=True):
        print(f"contents: {name}: {len(files)} files")
    for sentence in found:
        print(f"contents: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
