from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.suppression import search, service
from infrastructure.admin import suppression
from infrastructure.admin.suppression import main, rows
from infrastructure.local.supervisor.cloud_access import aws_environment, draw_secret
from infrastructure.local.supervisor.ports import InternalPorts
from tests.fake_cloud import aws_requests
from tests.unit.infrastructure.clouds import LocalCloud
from tests.unit.suppression.examples import entry, summary
from tests.unit.suppression.running import new_account, running_cloud

ANN = "ann@x.test"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with running_cloud(tmp_path_factory.mktemp("cloud")) as running:
        yield running


@pytest.fixture
def account(cloud: LocalCloud) -> Iterator[int]:
    with new_account(cloud) as number:
        yield number


def run(account: int, *arguments: str) -> int:
    return main(["--account", str(account), *arguments])


def entries(account: int, owner: int | None = None) -> list[tuple[str, str, str, str, str]]:
    all_entries = search.everything(account, owner)
    return sorted(
        (e.recipient, e.type, e.description or "", e.list_id, e.source) for e in all_entries
    )


@pytest.mark.spec("2.9-t3")
def test_imported_rows_become_entries_with_the_sources_they_name(
    account: int, tmp_path: Path
) -> None:
    file = tmp_path / "list.csv"
    file.write_text(
        "\ufeffrecipient,type,description,list_id,source\r\n"
        'Ann@X.test,transactional,"said ""no"", twice",,\r\n'
        "bob@x.test,non_transactional,,News.1,Bounce Rule\r\n"
        "\r\n"
        "eve@x.test,open_tracking,,,Tracking Consent Revoked\r\n",
        encoding="utf-8",
    )
    assert run(account, "import", str(file)) == 0
    assert entries(account) == [
        (ANN, "transactional", 'said "no", twice', "", "Manually Added"),
        ("bob@x.test", "non_transactional", "", "News.1", "Bounce Rule"),
        ("eve@x.test", "open_tracking", "", "", "Tracking Consent Revoked"),
    ]
    assert run(account, "import", str(file)) == 0
    assert summary(account, 0)["total"] == 2  # of those that block mail


def test_the_recipient_column_may_be_called_email_and_be_in_any_position(
    account: int, tmp_path: Path
) -> None:
    file = tmp_path / "list.csv"
    file.write_text("Note, Type ,EMAIL\nx,transactional,ann@x.test\ny,transactional\n")
    assert run(account, "--subaccount", "7", "import", str(file)) == 1
    assert entries(account, 7) == [(ANN, "transactional", "", "", "Manually Added")]
    assert entries(account) == []


def test_invalid_rows_are_reported_by_line_and_skipped(
    account: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "list.csv"
    file.write_text(
        "recipient,type,description,list_id\n"
        'good@x.test,transactional,"two\nlines",\n'
        "bad,transactional,,\n"
        "b@x.test,sms,,\n"
        "c@x.test,transactional,,a b\n"
        "last@x.test,transactional,,\n"
    )
    assert run(account, "import", str(file)) == 1
    output = capsys.readouterr()
    assert "2 entries written, 3 rows left out" in output.out
    assert [line.partition(": ")[0] for line in output.err.splitlines()] == [
        "line 4",
        "line 5",
        "line 6",
    ]
    assert [each[0] for each in entries(account)] == ["good@x.test", "last@x.test"]


@pytest.mark.parametrize("header", ["", "recipient,kind\n", "address,type\n"])
def test_a_file_without_the_columns_is_refused(account: int, tmp_path: Path, header: str) -> None:
    file = tmp_path / "list.csv"
    file.write_text(header + "ann@x.test,transactional\n")
    assert run(account, "import", str(file)) == 1
    assert entries(account) == []


def test_an_exported_list_can_be_imported_elsewhere(
    account: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    complaint = entry(ANN, source="Spam Complaint", description='é, "x"\ny', list_id="news")
    objection = entry(ANN, "open_tracking", "Tracking Consent Revoked")
    service.add_all(account, None, [complaint, objection])
    file = tmp_path / "list.csv"
    assert run(account, "export", str(file)) == 0
    assert run(account, "--subaccount", "7", "import", str(file)) == 0
    assert entries(account, 7) == entries(account)
    capsys.readouterr()
    assert run(account, "export", "-") == 0
    assert capsys.readouterr().out.splitlines()[0] == "recipient,type,description,list_id,source"


def test_standard_input_is_imported(account: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("email,type\nann@x.test,transactional\n"))
    assert run(account, "import", "-") == 0
    assert [each[0] for each in entries(account)] == [ANN]


@pytest.mark.cost
def test_a_large_file_is_read_and_written_in_batches(account: int) -> None:
    seen = 0

    def lines() -> Iterator[str]:
        nonlocal seen
        yield "email,type\n"
        for number in range(5000):
            seen = number
            yield f"u{number}@x.test,transactional\n"

    reader = rows(lines())
    next(reader)
    assert seen < 10
    with aws_requests() as requests:
        count, _ = suppression.import_csv(
            (f"u{n}@x.test,transactional\n" if n else "email,type\n" for n in range(2001)),
            account,
            None,
        )
    assert count == 2000
    assert len(requests) <= 0.042 * 2000


@pytest.mark.spec("4.8-r1")
def test_compliance_is_added_and_only_the_operator_erases_it(
    account: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(account, "add-compliance", ANN, "Bob@x.test", "--description", "court order") == 0
    assert {each[1:] for each in entries(account)} == {
        ("transactional", "court order", "", "Compliance"),
        ("non_transactional", "court order", "", "Compliance"),
    }
    assert run(account, "add-compliance", "nobody") == 1
    assert run(account, "--subaccount", "7", "add-compliance", ANN, "--type", "transactional") == 0
    assert run(account, "erase", ANN) == 0
    assert {each[0] for each in entries(account)} == {"bob@x.test"}
    assert len(entries(account, 7)) == 1
    assert run(account, "erase", "--whole-account", ANN) == 0
    assert entries(account, 7) == []
    assert f"{ANN}: 1 entries" in capsys.readouterr().out


def test_the_limit_of_an_account_stops_an_import(
    account: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(service, "MOST_ENTRIES", 1)
    file = tmp_path / "list.csv"
    file.write_text("email,type\na@x.test,transactional\nb@x.test,transactional\n")
    assert run(account, "import", str(file)) == 1
    assert "at most 1 entries" in capsys.readouterr().err
    assert entries(account) == []


def test_the_local_runtime_is_found_by_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGE", "test")
    ports = {**dict.fromkeys(InternalPorts.__slots__, 1), "cloud": 4711}
    (tmp_path / "ports.json").write_text(json.dumps(ports))
    secret = draw_secret(tmp_path)
    for name in aws_environment("", ""):
        monkeypatch.setenv(name, "before")
    suppression._use_local(tmp_path)
    assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4711"
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == secret
    assert os.environ["STAGE"] == "local"
