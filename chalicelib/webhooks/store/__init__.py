"""Store webhooks, their batches, their circuit breakers and their access tokens."""
