"""Accounts: who sends. Spec 2.7 and 4.6."""
