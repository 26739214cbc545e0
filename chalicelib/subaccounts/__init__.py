"""Subaccounts: separately managed senders under an account. Spec 2.6 and 4.5."""
