"""The command line: commands only parse, call and print.

Heavy imports stand inside the functions, so that ``rowsparse --help`` answers at once.
"""

from rowsparse.cli.app import build_app, main

__all__ = ["build_app", "main"]
