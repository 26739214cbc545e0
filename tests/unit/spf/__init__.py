"""Tests of ``chalicelib/spf``."""
