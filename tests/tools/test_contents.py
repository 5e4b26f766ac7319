"""What is missing in a wheel or an sdist, or does not belong there, is found."""

import io
import tarfile
import zipfile
from pathlib import Path

from tools.contents import names_in, problems

TRACKED = {"src/rowsparse/a.py", "src/rowsparse/page.html", "tests/test_a.py", "README.md"}
WHEEL = {"rowsparse/a.py", "rowsparse/page.html", "rowsparse-1.dist-info/METADATA"}


def test_complete_files_have_no_problem() -> None:
    assert problems(WHEEL, TRACKED | {"PKG-INFO"}, TRACKED) == []


def test_tests_in_the_wheel_and_missing_files_are_named() -> None:
    wheel = WHEEL - {"rowsparse/page.html"} | {"tests/test_a.py"}
    assert problems(wheel, TRACKED - {"tests/test_a.py"} | {"notes"}, TRACKED) == [
        "the sdist has notes, which git does not track",
        "the sdist lacks tests/test_a.py",
        "the wheel has tests/test_a.py, which is no part of the package",
        "the wheel lacks rowsparse/page.html",
    ]


def test_names_are_those_below_the_folder_of_the_sdist(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "one-1.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("one-1/src/a.py")
        archive.addfile(member, io.BytesIO())
    with zipfile.ZipFile(tmp_path / "one-1.whl", "w") as wheel:
        wheel.writestr("one/a.py", "")
    assert names_in(tmp_path / "one-1.tar.gz") == {"src/a.py"}
    assert names_in(tmp_path / "one-1.whl") == {"one/a.py"}
