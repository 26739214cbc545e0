"""Webhooks: where a customer wants events posted to. Spec 2.10, 4.9, 5.8 and 6."""
