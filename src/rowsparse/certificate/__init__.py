"""Proofs that a choice of features is the best one, and their verification."""

from __future__ import annotations

from rowsparse.certificate.checking import Verification, verify
from rowsparse.certificate.data import OtherDataError
from rowsparse.certificate.proof import Proof, Statement

__all__ = ["OtherDataError", "Proof", "Statement", "Verification", "verify"]
