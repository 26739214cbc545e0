"""Turn mail that comes back into events: bounces, complaints, automatic replies, unsubscriptions.

The relay accepts such mail at the bounce domains (`accept`), for signed addresses that the service
created (`addresses`). A report comes from a stranger, so nothing about its form is trusted
(`report`, with `dsn`, `notice`, `own_words`, `bounce_text` and `arf`). It becomes an
event of its message (`inbound_events`); a report that arrives again makes the same event.
"""
