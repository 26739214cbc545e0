"""Tracking domains: the host names in the links and open pixels of messages (spec 2.1)."""
