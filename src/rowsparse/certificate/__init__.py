"""Proofs that a choice of features is the best one, and their verification."""

from __future__ import annotations

from rowsparse.certificate.checking import objective, verify
from rowsparse.certificate.proof import Proof, ProofProblem

__all__ = ["Proof", "ProofProblem", "objective", "verify"]
