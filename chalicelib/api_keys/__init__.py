"""API keys and the grants that they carry. Spec section 5."""
