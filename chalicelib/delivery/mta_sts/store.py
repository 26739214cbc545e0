"""Store the MTA-STS policies that were fetched, which all delivery processes share.

Access patterns of ``messages``:

- the policy of a domain → ``mta-sts#<domain>`` / ``policy`` (until its ``max_age`` is over)
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core import clock
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.delivery.mta_sts.policy import Mode, Policy

_SORT_KEY = "policy"


class PolicyItem(Keyed):
    """The MTA-STS policy of a domain that was fetched last; its times are seconds."""

    mode: str
    hosts: list[str]
    max_age: int
    policy_id: str
    fetched: int
    expires: int


_messages: Table[PolicyItem] = Table("messages")


@dataclass(frozen=True, slots=True)
class FetchedPolicy:
    """A policy, the id that the DNS announced it by, and when it was fetched, in seconds."""

    policy: Policy
    policy_id: str
    fetched: int

    @property
    def expires(self) -> int:
        """When the policy no longer counts, in seconds."""
        return self.fetched + self.policy.max_age


def policy_of(domain: str) -> FetchedPolicy | None:
    """Return the policy of a domain that was fetched last, unless it has expired."""
    item = _messages.get(_partition(domain), _SORT_KEY)
    if not item or item["expires"] <= clock.now():
        return None
    policy = Policy(Mode(item["mode"]), tuple(item["hosts"]), int(item["max_age"]))
    return FetchedPolicy(policy, item["policy_id"], int(item["fetched"]))


def put_policy(domain: str, fetched: FetchedPolicy) -> None:
    """Store a policy in the place of the domain's last one."""
    policy = fetched.policy
    _messages.put(
        {
            "pk": _partition(domain),
            "sk": _SORT_KEY,
            "mode": policy.mode.value,
            "hosts": list(policy.hosts),
            "max_age": policy.max_age,
            "policy_id": fetched.policy_id,
            "fetched": fetched.fetched,
            "expires": fetched.expires,
        }
    )


def _partition(domain: str) -> str:
    return f"mta-sts#{domain}"
