"""Metrics: how many messages were sent, delivered, bounced, opened, and when (spec 4.11).

Counts come in by batches of events (``counting`` into a ``delta``), wait as pending deltas, are
folded into counters (``fold``), and are read from those (``reading``): no figure is ever computed
from events. ``model`` holds the vocabulary.
"""
