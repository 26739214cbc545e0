from __future__ import annotations

from relay.lobby import Lobby


class FakeGuest:
    def __init__(self, peer_ip: str) -> None:
        self.peer_ip = peer_ip
        self.told: list[str] = []

    def finish(self) -> None:
        self.told.append("finish")

    def give_up(self) -> None:
        self.told.append("give up")

    def abort(self) -> None:
        self.told.append("abort")


def test_the_total_is_capped() -> None:
    lobby = Lobby(max_total=2, max_per_address=10)
    guests = [FakeGuest(f"192.0.2.{number}") for number in range(3)]
    assert [lobby.enter(guest) for guest in guests] == [True, True, False]
    lobby.leave(guests[0])
    assert lobby.enter(guests[2])
    assert len(lobby) == 2


def test_an_address_is_capped_without_harm_to_others() -> None:
    lobby = Lobby(max_total=10, max_per_address=1)
    first, second, other = FakeGuest("192.0.2.1"), FakeGuest("192.0.2.1"), FakeGuest("192.0.2.2")
    assert [lobby.enter(guest) for guest in (first, second, other)] == [True, False, True]
    lobby.leave(first)
    assert lobby.enter(second)


def test_leaving_without_having_entered_changes_nothing() -> None:
    lobby = Lobby(max_total=10, max_per_address=1)
    first, second = FakeGuest("192.0.2.1"), FakeGuest("192.0.2.1")
    lobby.enter(first)
    lobby.enter(second)
    lobby.leave(second)
    assert not lobby.enter(second)
    lobby.leave(first)
    lobby.leave(first)
    assert lobby.enter(second)


def test_every_guest_is_told_to_finish_then_to_give_up_then_to_abort() -> None:
    lobby = Lobby(max_total=10, max_per_address=10)
    guests = [FakeGuest("192.0.2.1"), FakeGuest("192.0.2.2")]
    for guest in guests:
        lobby.enter(guest)
    lobby.finish()
    lobby.give_up()
    lobby.abort()
    assert [guest.told for guest in guests] == [["finish", "give up", "abort"]] * 2
