"""Recording: every event that happened is stored and has its effects.

This is the consumer of the ``events`` queue. Repeating any of its steps changes nothing: an event's
place in the store follows from the event itself.
"""
