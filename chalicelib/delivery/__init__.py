"""The outgoing side: one generated message, one attempt, one outcome.

An attempt hands an `OutboundMessage` to a transport (`transports`), which answers with an
`Outcome` (`outcome`): delivered, to be retried, or failed. Replies of remote hosts get one of the
service's bounce classes (`classify`, named in `events.bounce_classes`), and `schedule` says when a
retried message is due again, or that it has expired.

Nothing here keeps state between processes or knows about queues, tables and HTTP: the caller
records outcomes, and does so inside the window that a transport opens around the final dot
(`transports.Commit`).
"""
