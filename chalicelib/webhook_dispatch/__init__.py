"""Events on their way to webhooks: collected, cut into batches, posted until they are taken.

No event is lost: each step ends when the next one's queue holds its work. An event may come twice;
its ``event_id`` and the batch's id tell (spec 6.2).
"""
