"""Tracking domains: the names that links and open pixels of a message lead to. Spec 2.1."""
