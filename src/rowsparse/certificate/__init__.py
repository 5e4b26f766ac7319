"""Proofs that a choice of features is the best one, and how to check them."""

from __future__ import annotations

from rowsparse.certificate.checking import objective, verify
from rowsparse.certificate.proof import Problem, Proof

__all__ = ["Problem", "Proof", "objective", "verify"]
