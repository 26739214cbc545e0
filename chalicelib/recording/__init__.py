"""Recording: every event that happened is stored, has its effects, and is counted once.

This is the consumer of the ``events`` queue. Its steps may be repeated, but for the last one, which
counts the events and notes in their ledgers that they are recorded.
"""
