"""Inbound domains: domains that the service receives mail for, and what becomes of that mail."""
