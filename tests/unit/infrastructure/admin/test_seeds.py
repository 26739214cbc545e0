"""Test the commands of the operator's tool for seed addresses."""

from __future__ import annotations

import io
from typing import Any

import pytest

from chalicelib.seeding.store import addresses
from infrastructure.admin import cli
from tests.unit.people import make_account

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        status = cli.main(arguments)
        output = capsys.readouterr()
        return status, (output.err if status else output.out).strip()

    return command


def test_addresses_are_set_for_all_accounts_or_for_one(run: Any) -> None:
    make_account(1)
    output = run("set-seeds", "A@seeds.test", "b@seeds.test", "a@seeds.test")
    assert output == (0, "2 seed addresses set for all accounts")
    assert run("set-seeds", "--account", "1", "c@seeds.test")[0] == 0
    assert addresses.of_account(1) == ["c@seeds.test"]
    assert run("list-seeds") == (0, "a@seeds.test\nb@seeds.test")
    assert run("list-seeds", "--account", "1") == (0, "c@seeds.test")
    assert run("set-seeds", "--account", "1")[0] == 0
    assert run("list-seeds", "--account", "1") == (0, "a@seeds.test\nb@seeds.test")


def test_set_seeds_reads_addresses_from_standard_input(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(f"s{number}@seeds.test\n" for number in range(50))
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert run("set-seeds", "-")[0] == 0
    assert len(addresses.of_account(None)) == 50


def test_invalid_seed_addresses_and_unknown_accounts_are_refused(run: Any) -> None:
    assert run("set-seeds", "a@seeds.test", "b") == (1, "not an address: b")
    many = [f"s{number}@seeds.test" for number in range(1001)]
    assert run("set-seeds", *many) == (1, "1001 addresses are too many: at most 1000")
    assert run("set-seeds", "--account", "9", "a@x.test") == (1, "account 9 does not exist")
    assert run("list-seeds", "--account", "9") == (1, "account 9 does not exist")
    assert addresses.of_account(None) == []
