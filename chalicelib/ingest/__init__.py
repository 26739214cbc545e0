"""Ingesting: events of mail that left elsewhere become events of the account.

A batch is a file of events that is taken whole and worked off later. Its events go the way that all
events go, and what became of it is told by an event of its own: ``success``, or ``error`` with a
link to the events that could not be taken.
"""
