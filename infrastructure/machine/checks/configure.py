"""Write the configuration file of a machine: ``python -m infrastructure.machine.checks.configure``.

The options are those of ``postfinch setup``. The file keeps what it has and what was not asked.
Nothing is written if a value cannot be: the exit status is then 2, with one line.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import typer

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import config_file, configuration
from infrastructure.machine.checks.questions import Answers

_OPTIONS = {
    "domain": "system_domain",
    "admin-email": "admin_email",
    "transport": "transport",
    "smarthost": "smarthost",
    "smarthost-username": "smarthost_username",
    "smarthost-password": "smarthost_password",
    "smarthost-tls": "smarthost_tls",
    "backup-dir": "backup_dir",
    "data-dir": "data_dir",
}
_COMMENTS = (
    "Configuration of Postfinch. Names are those of docs/settings.md in lower case;",
    "`postfinch setup` changes and checks it, and a restart of the service reads it.",
)


def main(arguments: list[str] | None = None) -> int:
    """Ask for what is missing, and write the file; return the exit status."""
    options = vars(_parser().parse_args(arguments))
    can_ask = not options.pop("yes") and sys.stdin.isatty()
    path = config_file.path_of(os.environ)
    named_options = {
        _OPTIONS[name.replace("_", "-")]: text for name, text in options.items() if text
    }
    try:
        present = config_file.read(path) if path.exists() else {}
        values = Answers(named_options, present, os.environ, can_ask).values()
        _require_possible(values, os.environ)
        if values != present:
            store(path, values)
    except (typer.Abort, KeyboardInterrupt):
        print("\npostfinch: nothing was written", file=sys.stderr)
        return 2
    except ConfigError as error:
        print(f"postfinch: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"postfinch: {error.filename} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def store(path: Path, values: Mapping[str, str]) -> None:
    """Write the file, and let it belong to whom its folder belongs: the user of the service.

    ``sudo postfinch setup`` would else write a file that only root reads.
    """
    config_file.write(path, values, _COMMENTS)
    folder = path.parent.stat()
    if os.geteuid() == 0 and folder.st_uid != 0:
        with suppress(OSError):
            os.chown(path, folder.st_uid, folder.st_gid)


def _require_possible(values: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Raise ``ConfigError`` if a service could not start with the file and this environment."""
    names = {name.upper(): text for name, text in values.items()}
    # An empty file in place of the one that is not written yet
    configuration.load(configuration.read({**names, **environ, config_file.VARIABLE: os.devnull}))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Write the configuration file of a machine.")
    for name in _OPTIONS:
        parser.add_argument(f"--{name}")
    parser.add_argument("--yes", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
