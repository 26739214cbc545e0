"""What comes back by mail: late bounces, complaints, automatic replies, unsubscriptions.

The relay takes such mail at the bounce domains (`accept`), for the signed addresses that the
service gave out (`addresses`). A report is read without trust in its form (`report`, on top of
`dsn`, `bounce_text`, `arf` and `auto_reply`) and becomes an event of its message (`tell`); what is
met again has the event that it had (`store`).
"""
