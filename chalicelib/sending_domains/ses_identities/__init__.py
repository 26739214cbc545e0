"""Sending domains as identities of Amazon SES, where mail leaves by it."""
