"""Ingest events of messages that other systems sent, as events of the account.

A batch is a file of events that is accepted as a whole and processed later. Its events are recorded
like all others. Its result is an event as well: ``success``, or ``error`` with a link to the events
that could not be ingested.
"""
