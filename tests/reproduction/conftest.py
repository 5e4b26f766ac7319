"""What the tests of the papers share."""

import pytest


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures are left empty: drawing takes most of the time of a page."""

    def write(path, write_to):
        if path.suffix == ".png":
            path.touch()
        else:
            write_to(path)

    monkeypatch.setattr("reproduction.pages.write_whole", write)
