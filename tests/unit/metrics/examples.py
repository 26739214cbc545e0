"""Make messages and their events for tests of counting."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.core import ids
from chalicelib.core.message_event import Event
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.recording import store
from chalicelib.recording.commit import commit

CAMPAIGNS = ("", "spring", "spring-sale", "autumn")
DOMAINS = ("gmail.com", "yahoo.com", "x.test")
SUBACCOUNTS = (None, 7, 12)
PROVIDERS = {"gmail.com": ("Gmail", "Global"), "yahoo.com": ("Yahoo", "Global")}
REASONS = ("550 5.1.1 user unknown", "452 4.2.2 mailbox full", "554 5.7.1 spam")
LINKS = (
    ("Raw URL", "https://a.test/1"),
    ("Raw URL", "https://a.test/2"),
    ("Shop", "https://b.test"),
)
_KINDS = """
delivery delay bounce out_of_band spam_complaint open initial_open click amp_open amp_initial_open
amp_click list_unsubscribe link_unsubscribe inbox_seed spam_panel
"""
KINDS = _KINDS.split()
UNGENERATED = ("generation_failure", "generation_rejection", "policy_rejection")


@dataclass(frozen=True, slots=True)
class Mail:
    """A message of an account with the fields that all its events have."""

    base: Event
    index: int

    def event(self, kind: str, at_ms: int, nonce: str = "", **fields: Any) -> Event:
        """Return an event of the message."""
        return make_event(kind, self.base, at_ms, nonce=nonce, **fields)


def mail(
    account: int,
    index: int = 0,
    *,
    subaccount: int | None = None,
    campaign: str = "",
    template: str = "",
    domain: str = "x.test",
    generated: bool = True,
    transmission: str = "",
    **fields: Any,
) -> Mail:
    """Return the message to recipient ``index`` of a transmission."""
    transmission = transmission or str(10**17 + account)
    sender = Sender(
        account, subaccount, transmission, "rest", campaign, template, ip_pool="default"
    )
    about = recipient_fields(f"r{index}@{domain}", metadata={}, tags=[])
    provider, region = PROVIDERS.get(domain, ("", ""))
    base = sender.fields() | about | {"sending_domain": "s.test", "subject": f"Subject {index % 2}"}
    base |= {"mailbox_provider": provider, "mailbox_provider_region": region, "msg_size": "1000"}
    if generated:
        base["message_id"] = ids.message_id(transmission, index)
    else:
        base["rcpt_index"] = index
    return Mail(base | fields, index)


def random_events(account: int, seed: int, count: int, start_ms: int, end_ms: int) -> list[Event]:
    """Return events of some messages between two times, in random order."""
    draw = random.Random(seed)
    messages = [_random_mail(account, index, draw) for index in range(1, max(2, count // 5))]
    return [
        _random_event(draw.choice(messages), number, draw, draw.randrange(start_ms, end_ms))
        for number in range(count)
    ]


def _random_mail(account: int, index: int, draw: random.Random) -> Mail:
    return mail(
        account,
        index,
        subaccount=draw.choice(SUBACCOUNTS),
        campaign=draw.choice(CAMPAIGNS),
        template=draw.choice(("", "t1", "t2")),
        domain=draw.choice(DOMAINS),
        generated=draw.random() < 0.8,
    )


def _random_event(message: Mail, number: int, draw: random.Random, at_ms: int) -> Event:
    if "rcpt_index" in message.base:
        kind = draw.choice(UNGENERATED)
    else:
        kind = draw.choice(["injection", "delivery", *KINDS])
    fields: Event = {}
    if kind in ("delivery", "delay"):
        fields |= {"num_retries": str(draw.randrange(4)), "queue_time": str(draw.randrange(9000))}
        fields["sending_ip"] = draw.choice(("192.0.2.1", "192.0.2.2"))
    if kind in ("delay", "bounce", "out_of_band", *UNGENERATED):
        fields["reason"] = draw.choice(REASONS)
        fields["bounce_class"] = draw.choice(("1", "10", "22", "25", "51", "77"))
    if "open" in kind or "click" in kind:
        fields["user_agent_parsed"] = {"is_prefetched": draw.random() < 0.3}
    if "click" in kind:
        fields["target_link_name"], fields["target_link_url"] = draw.choice(LINKS)
    return message.event(kind, at_ms, str(number), **fields)


def record(events: Sequence[Event]) -> None:
    """Record events: count each of them once."""
    commit(events, store.read(map(store.key_of, events)))
