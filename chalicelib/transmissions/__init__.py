"""Transmissions: a send to one or many recipients, from acceptance to the queue. Spec 2.1, 4.1."""
