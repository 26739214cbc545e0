"""Metrics: how many messages were sent, delivered, bounced and opened, and when (spec 4.11).

``counting`` says what an event counts. A batch of events makes a ``delta``, which is stored as a
pending delta until a ``rollup`` adds it to the counters. Reports are read from counters
(``reading``): no figure is computed from events. ``model`` holds the vocabulary.
"""
