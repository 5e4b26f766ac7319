"""Benchmarks of rowsparse: run ``python -m benchmarks`` in the root of the repository."""
