"""Suppression entries: added, listed, checked, removed, and imported from CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chalicelib.suppression import service
from chalicelib.suppression.model import COMPLIANCE, NON_TRANSACTIONAL, new_entry
from postfinch import suppression_file
from tests.unit.calling import Client
from tests.unit.postfinch.api_server import run

BOTH = ["non_transactional", "transactional"]


def entries(*arguments: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = json.loads(run("suppress", "list", "--json", *arguments))
    return result


def types_of(recipient: str) -> list[str]:
    return sorted(each["type"] for each in entries() if each["recipient"] == recipient)


def protect(recipient: str) -> None:
    """Add an entry that only the operator may change."""
    service.impose_all(1, None, [new_entry(recipient, NON_TRANSACTIONAL, COMPLIANCE)])


def test_a_recipient_is_suppressed_for_all_mail_until_removed(account: Client) -> None:
    run("suppress", "check", "ann@example.test")
    run("suppress", "add", "ann@example.test", "--description", "she asked")
    assert types_of("ann@example.test") == BOTH
    output = run("suppress", "check", "bob@example.test", "ann@example.test", code=1)
    assert "ann@example.test\ttransactional\t\tManually Added\t" in output
    assert "she asked" in output
    run("suppress", "remove", "ann@example.test")
    assert entries() == []
    assert "ann@example.test: " in run("suppress", "remove", "ann@example.test", code=1)


def test_types_and_lists_are_chosen(account: Client) -> None:
    run("suppress", "add", "a@x.test", "b@x.test", "--type", "transactional")
    run("suppress", "add", "a@x.test", "--type", "non_transactional", "--list-id", "news.x.test")
    assert types_of("a@x.test") == BOTH
    assert types_of("b@x.test") == ["transactional"]
    assert [each["recipient"] for each in entries("--list-id", "news.x.test")] == ["a@x.test"]
    run("suppress", "remove", "a@x.test", "-t", "non_transactional", "--list-id", "news.x.test")
    assert types_of("a@x.test") == ["transactional"]
    assert len(entries("--type", "non_transactional")) == 0


def test_the_list_is_read_from_all_its_pages(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("suppress", "add", *(f"{n}@x.test" for n in range(5)), "--type", "transactional")
    monkeypatch.setattr("postfinch.commands.suppress._MOST_PER_PAGE", 2)
    assert len({each["recipient"] for each in entries()}) == 5
    assert len(entries("--limit", "3")) == 3
    assert entries("--domain", "y.test") == []


def test_a_csv_file_is_imported_and_each_refused_row_has_its_line(
    account: Client, tmp_path: Path
) -> None:
    protect("legal@x.test")
    file = tmp_path / "list.csv"
    file.write_text(
        "\ufeffEmail,Type,Description\n"
        'ann@x.test,transactional,"left, for good"\n'
        "\n"
        "nobody,transactional,\n"
        "bob@x.test,,\n"
        "legal@x.test,non_transactional,\n"
        "carl@x.test,wrong,\n"
    )
    result = json.loads(run("suppress", "import", file, "--json", code=1))
    assert result["loaded"] == 3
    assert [(each["line"], each["recipient"]) for each in result["refused"]] == [
        (4, "nobody"),
        (6, "legal@x.test"),
        (7, "carl@x.test"),
    ]
    assert "valid email address" in result["refused"][0]["reason"]
    assert "Compliance" in result["refused"][1]["reason"]
    assert types_of("bob@x.test") == BOTH
    (ann,) = [each for each in entries() if each["recipient"] == "ann@x.test"]
    assert ann["description"] == "left, for good"
    assert "line 4: nobody: " in run("suppress", "import", file, code=1)


def test_an_entry_of_compliance_is_refused_alone(account: Client, tmp_path: Path) -> None:
    protect("legal@x.test")
    file = tmp_path / "list.csv"
    file.write_text("ann@x.test\nlegal@x.test\n")
    result = json.loads(run("suppress", "import", file, "-t", NON_TRANSACTIONAL, "--json", code=1))
    assert result["loaded"] == 1
    assert [each["line"] for each in result["refused"]] == [2]


def test_a_file_of_addresses_alone_comes_in_several_requests(
    account: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppression_file, "BULK", 3)
    text = "".join(f"{n}@x.test\n" for n in range(8))
    output = run("suppress", "import", "-", "--type", "transactional", answer=text)
    assert "8 entries loaded, rows refused: 0" in output
    assert len(entries()) == 8


def test_a_row_that_is_refused_for_both_types_is_reported_once(account: Client) -> None:
    output = run("suppress", "import", "-", answer="nobody\nann@x.test\n", code=1)
    assert output.count("line 1: nobody: ") == 1
    assert "2 entries loaded, rows refused: 1" in output


def test_a_file_that_cannot_be_read_is_a_mistake_of_the_command_line(account: Client) -> None:
    assert "missing.csv cannot be read" in run("suppress", "import", "missing.csv", code=2)


def test_a_list_of_customers_is_no_list_of_suppressions(account: Client) -> None:
    Path("contacts.csv").write_text("Email,First name\nann@inbox.test,Ann\n")
    output = run("suppress", "import", "contacts.csv", code=1)
    assert "contacts.csv is not taken: it has the columns first name" in output
    assert "expected are recipient, type, description, list_id" in output
    assert entries() == []
