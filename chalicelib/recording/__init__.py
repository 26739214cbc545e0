"""Record events: store each one, apply its effects, and count it once.

This is the consumer of the ``events`` queue. All its steps may be repeated except the last one,
which counts the events and notes in their deduplication records that they are recorded.
"""
