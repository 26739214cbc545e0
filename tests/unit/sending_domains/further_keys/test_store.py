"""Further keys are deleted in the transaction that deletes their domain, or not at all."""

from __future__ import annotations

import pytest

from chalicelib.core.dynamo import WriteConflict
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.further_keys import store
from chalicelib.sending_domains.further_keys.model import MOST_KEYS, FurtherKey
from chalicelib.sending_domains.model import SendingDomain
from tests.unit.key_pairs import PAIR
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud")

# Each of the parents has a claim that the deletion changes, too
DEEP = ".".join([*(f"d{number}" for number in range(29)), "mail.example.test"])


def with_keys(name: str, count: int) -> SendingDomain:
    domains.create(domain(name))
    for number in range(count):
        key = DkimKey(f"s{number}", name, PAIR.public_b64, b"sealed")
        store.add(load(name), FurtherKey(f"k{number}", key, 1.0))
    return load(name)


def load(name: str) -> SendingDomain:
    owner = domains.get(name)
    assert owner is not None
    return owner


def test_a_domain_that_changed_before_its_deletion_keeps_its_keys() -> None:
    before = with_keys("mail.example.test", 2)
    store.add(before, FurtherKey("k2", DkimKey("s2", before.domain, PAIR.public_b64, b"x"), 1.0))
    with pytest.raises(WriteConflict):
        domains.delete(before, *store.deletion(before.domain))
    assert [each.id for each in store.of_domain(before.domain)] == ["k0", "k1", "k2"]


@pytest.mark.parametrize("name", ["mail.example.test", DEEP])
@pytest.mark.parametrize("count", [0, 33, 34, MOST_KEYS])
def test_all_keys_go_with_their_domain(name: str, count: int) -> None:
    before = with_keys(name, count)
    domains.delete(before, *store.deletion(name))
    assert domains.get(name) is None
    assert store.of_domain(name) == []
    assert store.find(name, "k0") is None
