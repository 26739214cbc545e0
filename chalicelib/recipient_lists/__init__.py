"""Recipient lists: recipients stored under an id, to be named by a transmission. Spec 2.1."""
