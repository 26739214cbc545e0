"""API keys: how a caller proves who it is, and what it may do. Spec section 5."""
