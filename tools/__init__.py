"""Programs for those who work on rowsparse; no part of the installed package."""
