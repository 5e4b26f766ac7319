"""Names made unique."""

from __future__ import annotations

from collections import Counter

__all__ = ["numbered"]


def numbered(names: list[str]) -> tuple[list[str], int]:
    """Names made unique as in 'TP53', 'TP53 (2)', and how many were changed.

    >>> numbered(["TP53", "EGFR", "TP53"])
    (['TP53', 'EGFR', 'TP53 (2)'], 1)
    """
    taken, result, changed = set(names), [], 0
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        fresh = name
        while seen[name] > 1 and fresh in taken:
            fresh = f"{name} ({seen[name]})"
            seen[name] += fresh in taken
        changed += fresh != name
        taken.add(fresh)
        result.append(fresh)
    return result, changed
