"""Samples that come in blocks of rows: from files, arrays on disk, or any function."""

from rowsparse.streams.row_blocks import RowBlocks

__all__ = ["RowBlocks"]
