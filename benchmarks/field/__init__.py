"""Other packages for the same tasks, each run in a process of its own: docs/field.md."""
