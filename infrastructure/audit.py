"""Check the pinned packages for published vulnerabilities, and the repository for secrets.

``make audit`` runs it in an environment of its own (``requirements-audit.txt``). The exit status is
1 if a package has a known vulnerability or a file holds what looks like a secret. Where the
database of advisories cannot be reached, one line says so and the check of packages is skipped. A
line that ends with ``pragma: allowlist secret`` holds no real secret.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ("requirements.txt", "relay/requirements.txt", "requirements-local.txt")
UNREACHABLE = "audit: the database of advisories cannot be reached; packages are not checked"

# They judge by entropy or by the name of a variable, and report every digest and every test's key
_NOISY = ("Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector")


class Findings(NamedTuple):
    """Lines about vulnerable packages, and how many packages the database knew."""

    vulnerabilities: list[str]
    checked: int


def read_report(report: Any) -> Findings:
    """Read the JSON report of pip-audit."""
    packages = [each for each in report["dependencies"] if "vulns" in each]
    lines = [
        f"{package['name']} {package['version']}: {advisory['id']}, fixed in "
        f"{', '.join(advisory['fix_versions']) or 'no version yet'}"
        for package in packages
        for advisory in package["vulns"]
    ]
    return Findings(lines, len(packages))


def audit_packages() -> list[str] | None:
    """Return a line for each vulnerability; ``None`` if the database cannot be reached."""
    vulnerabilities: list[str] = []
    checked = 0
    for requirements in REQUIREMENTS:
        options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "-f", "json")
        done = _run("pip-audit", *options, "-r", requirements)
        try:
            findings = read_report(json.loads(done.stdout))
        except ValueError:
            return None
        vulnerabilities += findings.vulnerabilities
        checked += findings.checked
    return sorted(set(vulnerabilities)) if checked else None


def find_secrets(files: Sequence[str]) -> str:
    """Return what looks like secrets in the files, in the words of detect-secrets; else nothing."""
    without = [option for name in _NOISY for option in ("--disable-plugin", name)]
    done = _run("detect-secrets-hook", *without, *_suspects(files))
    return done.stdout if done.returncode else ""


def _suspects(files: Sequence[str]) -> list[str]:
    """Return the files in which a pattern of detect-secrets occurs anywhere.

    It looks at each line with each pattern, which takes a minute for all files.
    """
    # Of the environment that only `make audit` has
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    plugins = get_mapping_from_secret_type_to_class().values()
    patterns = [
        re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
        for plugin in plugins
        if plugin.__name__ not in _NOISY
        for pattern in plugin.denylist
    ]
    return [name for name in files if _has_any(ROOT / name, patterns)]


def _has_any(path: Path, patterns: Sequence[re.Pattern[str]]) -> bool:
    # One that was deleted since the last commit has no secrets to commit
    text = path.read_text(errors="replace") if path.exists() else ""
    return any(pattern.search(text) for pattern in patterns)


def tracked_files() -> list[str]:
    """Return the files of the repository."""
    command = ("git", "ls-files", "-z")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\0").split("\0")


def main() -> int:
    """Check packages and files; return the exit status."""
    vulnerabilities = audit_packages()
    if vulnerabilities is None:
        print(UNREACHABLE)
    else:
        print("\n".join(vulnerabilities) or "audit: no known vulnerabilities")
    secrets = find_secrets(tracked_files())
    print(secrets or "audit: no secrets")
    return 1 if vulnerabilities or secrets else 0


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment in the repository."""
    command = (str(Path(sys.executable).with_name(program)), *arguments)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
