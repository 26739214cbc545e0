"""Authentication of a caller by API key, over HTTP and SMTP. Spec section 5."""
