"""Write the findings of a machine as JSON lines: ``python -m infrastructure.machine.checks``.

With ``--service``, also those of the service that runs, or should. The exit status is 2, with one
line, if the settings cannot be.
"""

from __future__ import annotations

import json
import os
import sys

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine.checks import checklist, installation


def main(arguments: list[str]) -> int:
    """Write a line for each finding; return the exit status."""
    try:
        subject, values = installation.read(os.environ)
    except (ConfigError, PermissionError) as error:
        print(f"postfinch: {error}", file=sys.stderr)
        return 2
    has_access = installation.enter(subject, values)
    checks = checklist.of_setup(subject, has_access=has_access)
    if "--service" in arguments:
        checks = {**checklist.of_service(subject, has_access=has_access), **checks}
    for finding in checklist.results(checks):
        print(json.dumps(finding._asdict()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
