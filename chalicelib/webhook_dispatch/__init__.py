"""Deliver events to webhooks: select them, merge them into batches, and post those until accepted.

No event is lost: each step ends when the next step's queue holds its work. An event may be posted
twice; targets recognise it by its ``event_id`` and the batch's id (spec 6.2).
"""
