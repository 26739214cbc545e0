"""What generating a chunk asks of the tables, read in one request for a hundred items.

That is who is suppressed, the sending domain, and where links and bounces lead; and what is asked
soon after, the pools that delivery goes by and whether campaigns are seeded. It is read anew for
each chunk: blocking a domain stops the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from chalicelib.core import config_cache, defaults
from chalicelib.core.dynamo import Key, Table
from chalicelib.core.reading import Reads, read_ahead
from chalicelib.fleet import store as fleets
from chalicelib.generation import suppression
from chalicelib.generation.chunk import Chunk
from chalicelib.seeding.store import configs as seeding
from chalicelib.sending_domains import store as domains
from chalicelib.suppression.store.items import table as suppression_table
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.transmissions.model import Transmission


@dataclass(frozen=True, slots=True)
class Lookups:
    """The reads of one chunk, by table; what was not foreseen is read when it is asked for."""

    config: Reads = field(default_factory=lambda: Reads(Table("config"), consistent=True))
    suppression: Reads = field(default_factory=lambda: Reads(suppression_table, consistent=False))


def look_ahead(found: Chunk, lookups: Lookups, domain: str | None) -> None:
    """Read what can be foreseen; ``domain`` is the sending domain, if it is known before."""
    sent = found.transmission
    if sent.refusal:
        return
    soon = config_cache.not_remembered(_soon(sent))
    read_ahead(
        {
            lookups.config: [*_of_sender(sent, domain), *soon],
            lookups.suppression: suppression.keys_of_chunk(found),
        }
    )
    config_cache.learn(soon, lookups.config(soon))


def _of_sender(sent: Transmission, domain: str | None) -> list[Key]:
    owner = sent.account_id, sent.subaccount_id
    return [
        *([domains.key_of(domain)] if domain else []),
        *defaults.keys_of_sender(domains.BOUNCE, *owner),
        *defaults.keys_of_sender(tracking_domains.KIND, *owner),
    ]


def _soon(sent: Transmission) -> list[Key]:
    return [fleets.key_of(sent.account_id), seeding.config_key(sent.account_id)]
