"""Requests of recipients about their own data (``/data-privacy``)."""
