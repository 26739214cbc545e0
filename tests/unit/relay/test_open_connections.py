from __future__ import annotations

from relay.open_connections import OpenConnections


class FakeConnection:
    def __init__(self, peer_ip: str) -> None:
        self.peer_ip = peer_ip
        self.calls: list[str] = []

    def finish(self) -> None:
        self.calls.append("finish")

    def give_up(self) -> None:
        self.calls.append("give up")

    def abort(self) -> None:
        self.calls.append("abort")


def connections_from(*addresses: str) -> list[FakeConnection]:
    return [FakeConnection(address) for address in addresses]


def test_the_total_is_capped() -> None:
    registry = OpenConnections(max_total=2, max_per_address=10)
    first, second, third = connections_from("192.0.2.1", "192.0.2.2", "192.0.2.3")
    assert [registry.admit(each) for each in (first, second, third)] == [True, True, False]
    registry.remove(first)
    assert registry.admit(third)
    assert len(registry) == 2


def test_an_address_is_capped_without_harm_to_others() -> None:
    registry = OpenConnections(max_total=10, max_per_address=1)
    first, second, other = connections_from("192.0.2.1", "192.0.2.1", "192.0.2.2")
    assert [registry.admit(each) for each in (first, second, other)] == [True, False, True]
    registry.remove(first)
    assert registry.admit(second)


def test_the_addresses_of_an_ipv6_network_count_as_one() -> None:
    registry = OpenConnections(max_total=10, max_per_address=1)
    first, second, other = connections_from("2001:db8::1", "2001:db8::2:1", "2001:db8:0:1::1")
    assert [registry.admit(each) for each in (first, second, other)] == [True, False, True]
    registry.remove(first)
    assert registry.admit(second)


def test_removing_a_connection_that_was_not_admitted_changes_nothing() -> None:
    registry = OpenConnections(max_total=10, max_per_address=1)
    first, second = connections_from("192.0.2.1", "192.0.2.1")
    registry.admit(first)
    registry.admit(second)
    registry.remove(second)
    assert not registry.admit(second)
    registry.remove(first)
    registry.remove(first)
    assert registry.admit(second)


def test_every_connection_is_asked_to_finish_then_to_give_up_then_to_abort() -> None:
    registry = OpenConnections(max_total=10, max_per_address=10)
    connections = connections_from("192.0.2.1", "192.0.2.2")
    for connection in connections:
        registry.admit(connection)
    registry.finish()
    registry.give_up()
    registry.abort()
    assert [each.calls for each in connections] == [["finish", "give up", "abort"]] * 2
