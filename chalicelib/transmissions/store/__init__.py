"""Store transmissions and the claims of idempotency keys, one module for each."""
