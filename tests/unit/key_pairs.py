"""Provide two DKIM key pairs for all tests: making one takes longer than most tests."""

from __future__ import annotations

from chalicelib.dkim.key_pair import generate_key

PAIR, OTHER = generate_key(1024), generate_key(1024)
