"""Write findings as they come, each with its remedy."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from postfinch.commands.output import write_json, write_line
from postfinch.findings import OK, PROBLEM, WARNING, Finding

_STYLES = {OK: "green", WARNING: "yellow", PROBLEM: "red"}


def show(findings: Iterable[Finding], *, as_json: bool) -> bool:
    """Write findings as lines or as one list of JSON; tell whether none is a problem."""
    results: list[Finding] = []
    for finding in findings:
        results.append(finding)
        if not as_json:
            _write(finding)
    if as_json:
        write_json([finding._asdict() for finding in results])
    return all(finding.status != PROBLEM for finding in results)


def _write(finding: Finding) -> None:
    texts = (finding.status, finding.check, finding.detail)
    fields = [" ".join(each.split()) for each in texts]
    if not sys.stdout.isatty():
        write_line("\t".join([*fields, finding.remedy]))
        return
    style = _STYLES.get(finding.status, "dim")
    write_line(f"{finding.status:8} {finding.check}: {finding.detail}", style=style)
    if finding.remedy:
        write_line(f"         {finding.remedy}")
