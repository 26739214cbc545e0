"""Webhooks: URLs to which a customer's events are posted. Spec 2.10, 4.9, 5.8 and 6."""
