"""``python -m rowsparse`` is the ``rowsparse`` command."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback while it is still imported."""
    try:
        from rowsparse.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
