"""The imports of a command, without what it does not use."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, cast

__all__ = ["import_workflow"]


def import_workflow(name: str, *, with_pandas: bool = False) -> Any:
    """Import the module of a workflow, by default without pandas.

    scikit-learn imports pandas where it is installed, which takes as long as importing
    scikit-learn itself. The commands give it arrays only, so pandas is hidden from it; whatever
    needs pandas afterwards can import it.
    """
    modules = cast(dict[str, Any], sys.modules)
    hide = not with_pandas and not {"pandas", "sklearn"} & modules.keys()
    if hide:
        modules["pandas"] = None
    try:
        return import_module(f"rowsparse.workflow.{name}")
    finally:
        if hide:
            del modules["pandas"]
