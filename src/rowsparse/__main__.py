"""``python -m rowsparse`` is the ``rowsparse`` command."""

from rowsparse.cli.app import main

if __name__ == "__main__":
    main()
