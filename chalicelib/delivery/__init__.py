"""Deliver finished messages: attempt, record, report, and queue what must be tried again.

`worker` consumes the ``delivery`` queue. `attempts` hands each message to a transport
(`transports`), which returns an `Outcome` (`outcome`): delivered, to be retried, or failed.
`classify` gives the replies of remote hosts a bounce class. `delivery_results` makes the events and
the batches for later attempts. `store` keeps the work units and the journal.
"""
