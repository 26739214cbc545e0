"""Compliance: domain names that the operator blocks."""
