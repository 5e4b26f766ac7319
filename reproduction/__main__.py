"""``python -m reproduction PAPER``."""

from reproduction.command import make_app

if __name__ == "__main__":
    make_app()()
