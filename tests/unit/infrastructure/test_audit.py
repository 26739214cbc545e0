from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infrastructure import audit

VULNERABLE = {
    "name": "jinja2",
    "version": "3.1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"]}, {"id": "PYSEC-2", "fix_versions": []}],
}
UNKNOWN = {"name": "idna", "skip_reason": "Dependency not found on PyPI"}


def report_of(*dependencies: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": list(dependencies), "fixes": []}


def test_each_vulnerability_has_a_line() -> None:
    findings = audit.read_report(report_of(VULNERABLE, UNKNOWN))
    assert findings.checked == 1
    assert findings.vulnerabilities == [
        "jinja2 3.1.0: PYSEC-1, fixed in 3.1.6",
        "jinja2 3.1.0: PYSEC-2, fixed in no version yet",
    ]


@pytest.mark.parametrize(
    ("vulnerabilities", "secrets", "status", "line"),
    [
        ([], "", 0, "audit: no known vulnerabilities"),
        (None, "", 0, audit.UNREACHABLE),
        (["jinja2 3.1.0: PYSEC-1"], "", 1, "jinja2 3.1.0: PYSEC-1"),
        (None, "Secret Type: Private Key", 1, audit.UNREACHABLE),
    ],
)
def test_vulnerabilities_and_secrets_fail_and_an_unreachable_database_does_not(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    vulnerabilities: list[str] | None,
    secrets: str,
    status: int,
    line: str,
) -> None:
    monkeypatch.setattr(audit, "audit_packages", lambda: vulnerabilities)
    monkeypatch.setattr(audit, "find_secrets", lambda files: secrets)
    assert audit.main() == status
    assert line in capsys.readouterr().out.splitlines()


def test_a_database_that_knows_no_package_counts_as_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Done:
        stdout = '{"dependencies": [{"name": "idna", "skip_reason": "not found on PyPI"}]}'

    monkeypatch.setattr(audit, "_run", lambda *arguments: Done)
    assert audit.audit_packages() is None
    Done.stdout = "Traceback: no connection"
    assert audit.audit_packages() is None


def test_the_files_of_the_repository_are_examined() -> None:
    files = audit.tracked_files()
    assert "app.py" in files
    assert not any(name.startswith(".venv") for name in files)


def test_only_files_in_which_a_pattern_occurs_are_looked_at_line_by_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class KeyDetector:
        denylist = (re.compile("^secret"), re.compile("BEGIN KEY"))

    class KeywordDetector:
        """One of those that report too much; it has no patterns of this kind."""

    # Only the environment of `make audit` has the package
    plugins = {"key": KeyDetector, "keyword": KeywordDetector}
    module = SimpleNamespace(get_mapping_from_secret_type_to_class=lambda: plugins)
    monkeypatch.setitem(sys.modules, "detect_secrets.core.plugins.util", module)
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    texts = {"plain": b"no secret\n", "key": b"\xff\n-- BEGIN KEY --\n", "second": b"1\nsecret\n"}
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    calls: list[tuple[str, ...]] = []
    done = SimpleNamespace(returncode=1, stdout="Location: key:2")
    monkeypatch.setattr(audit, "_run", lambda *arguments: calls.append(arguments) or done)
    assert audit.find_secrets([*texts, "deleted"]) == "Location: key:2"
    assert calls[0][-2:] == ("key", "second")
    assert not {"plain", "deleted"} & set(calls[0])
