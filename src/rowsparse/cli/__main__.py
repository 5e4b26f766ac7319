"""``python -m rowsparse.cli`` is the ``rowsparse`` command."""

from rowsparse.cli.app import main

if __name__ == "__main__":
    main()
