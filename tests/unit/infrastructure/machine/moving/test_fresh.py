from __future__ import annotations

import pytest

from infrastructure.machine.moving.checkpoint import Checkpoint
from infrastructure.machine.moving.failures import MoveRefused
from tests.unit.infrastructure.machine.moving.places import FakePlace, Move


def start_first(place: FakePlace, domain: str) -> None:
    """Store what a first start stores."""
    for account in (0, 1):
        place.put("config", f"account#{account}", "account", customer_id=account)
    place.put("config", "key#of-the-deployment", "key", account_id=1)
    for name, account in ((domain, 0), ("example.test", 1)):
        place.put("config", f"domain#{name}", "domain", domain=name, account_id=account)
        place.put("config", f"domain#{name}", "claim", holder=account)
        place.put("config", "due#sending-domains", f"0001#{name}", data={})
    place.put("config", f"domain#{domain.partition('.')[2]}", "claim", below=1, below_0=1)
    place.put("config", "template#0#my-first-email", "head#0000000000", name="Sample")


def test_what_the_first_start_made_is_replaced(move: Move) -> None:
    start_first(move.target, "mail.stage.test")
    move.source.put("config", "account#1", "account", customer_id=1, company_name="Mine")
    move.source.put("config", "key#mine", "key", account_id=1)
    assert move.run().is_right
    assert move.target.read("config", "key#of-the-deployment", "key") is None
    assert move.target.read("config", "domain#example.test", "domain") is None
    assert move.target.read("config", "account#1", "account")["company_name"] == "Mine"


def test_the_services_own_domain_of_a_stage_stays_with_its_claims(move: Move) -> None:
    start_first(move.target, "mail.stage.test")
    move.source.put("config", "domain#stage.test", "claim", below=2, below_7=2)
    move.run()
    assert move.target.read("config", "domain#mail.stage.test", "domain")["account_id"] == 0
    assert move.target.read("config", "domain#mail.stage.test", "claim") == {"holder": 0}
    assert move.target.read("config", "due#sending-domains", "0001#mail.stage.test") is not None
    assert move.target.read("config", "due#sending-domains", "0001#example.test") is None
    claim = {"below": 3, "below_0": 1, "below_7": 2}
    assert move.target.read("config", "domain#stage.test", "claim") == claim


def test_a_machine_makes_its_own_domain_again(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePlace, "makes_first_start", True)
    start_first(move.target, "mail.stage.test")
    move.run()
    assert move.target.items() == {}


@pytest.mark.parametrize(
    ("table", "pk", "sk"),
    [
        ("config", "account#2", "account"),
        ("config", "webhooks#1", "w1"),
        ("config", "key#second", "key"),
        ("transmissions", "transmission#1", "transmission"),
        ("suppression", "1#ann@x.test", "p#"),
    ],
)
def test_a_target_with_data_of_its_own_is_refused(move: Move, table: str, pk: str, sk: str) -> None:
    start_first(move.target, "mail.stage.test")
    move.target.put(table, pk, sk, account_id=1)
    before = move.target.items()
    with pytest.raises(MoveRefused, match="stage has data of its own"):
        move.run()
    assert move.target.items() == before


def test_a_domain_of_an_account_is_data_of_its_own(move: Move) -> None:
    move.target.put("config", "domain#own.test", "domain", domain="own.test", account_id=1)
    with pytest.raises(MoveRefused, match=r"own\.test"):
        move.run()


def test_an_object_is_data_of_its_own(move: Move) -> None:
    move.target.s3.put_object(Bucket=move.target.bucket, Key="lists/1/a", Body=b"x")
    with pytest.raises(MoveRefused, match="data of its own"):
        move.run()


def test_another_move_is_refused_when_the_checkpoint_is_gone(move: Move) -> None:
    move.run()
    for file in move.path.parent.iterdir():
        file.unlink()
    with pytest.raises(MoveRefused, match="another move"):
        move.run()


def test_two_processes_do_not_make_the_same_move(move: Move) -> None:
    checkpoint = Checkpoint(move.path)
    with pytest.raises(MoveRefused, match="another process"):
        move.run()
    checkpoint.close()
    assert move.run().is_right
