"""Shape the traffic to mailbox providers: how fast and over how many connections mail leaves.

Domains whose mail ends at one provider are one group (``groups``), with limits (``limits``). Slots
in time are given out in turn (``pacing``); what a provider answers slows its group down
(``backoff``).
"""
