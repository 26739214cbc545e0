"""Move a service: ``python -m infrastructure.machine.moving``, which ``postfinch move`` runs."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infrastructure.machine.moving import folder, fresh, report, service, stage
from infrastructure.machine.moving.checkpoint import Checkpoint
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.place import Place

_CHECKPOINTS, _TO = "move", "to"


def main(arguments: list[str] | None = None) -> int:
    """Make one pass of a move; return 0, 1 if something did not arrive, 2 if it is refused."""
    options = _parser().parse_args(arguments)
    profile: dict[str, str] = json.loads(options.other)
    try:
        with ExitStack() as stack:
            if options.check:
                return _check(options, profile, stack)
            return _move(options, profile, stack)
    except MoveRefused as refusal:
        print(f"postfinch: {refusal}", file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError) as error:
        print(f"postfinch: {error}. Start the move again: it goes on.", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=os.environ.get("COMMAND_NAME"), description="Move a service to another place."
    )
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--direction", choices=(_TO, "from"), required=True)
    parser.add_argument("--other", required=True, help="the other place, as JSON")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--last", action="store_true")
    return parser


def _check(options: argparse.Namespace, profile: dict[str, str], stack: ExitStack) -> int:
    """Show what a move would take; nothing is made or written."""
    source = stack.enter_context(_source(options, profile))
    print("\n".join(report.preview(source)))
    if path := _unused_folder(options, profile):
        print(f"The target {path} has no data yet.")
        return 0
    target = stack.enter_context(_target(options, profile))
    checkpoint_path = _checkpoint_path(options, profile)
    if checkpoint_path.exists():
        checkpoint = stack.enter_context(closing(Checkpoint(checkpoint_path)))
        fresh.require_usable(target, checkpoint)
        print(f"The target is {target.name}, with what was copied before.")
    else:
        fresh.require_fresh(target)
        print(f"The target is {target.name}, which is fresh.")
    return 0


def _move(options: argparse.Namespace, profile: dict[str, str], stack: ExitStack) -> int:
    """Make one pass."""
    source = stack.enter_context(_source(options, profile))
    target = stack.enter_context(_target(options, profile))
    print(f"Moving {source.name} to {target.name}", flush=True)
    outcome = service.move(source, target, _checkpoint_path(options, profile), _say)
    print("\n".join(report.lines(outcome)))
    return 0 if outcome.is_right else 1


def _source(options: argparse.Namespace, profile: dict[str, str]) -> AbstractContextManager[Place]:
    if options.direction == _TO:
        # As the service reads it: the environment comes before the folder
        return folder.opened(options.data_dir, secret_key=os.environ.get("SECRET_KEY", ""))
    return _other(profile, is_target=False, is_idle=options.last)


def _target(options: argparse.Namespace, profile: dict[str, str]) -> AbstractContextManager[Place]:
    if options.direction == _TO:
        return _other(profile, is_target=True, is_idle=False)
    return folder.opened(options.data_dir, as_target=True)


def _unused_folder(options: argparse.Namespace, profile: dict[str, str]) -> str:
    """Return the target if it is a folder without data, empty otherwise."""
    path = str(profile.get("data_dir", "") if options.direction == _TO else options.data_dir)
    return path if path and not folder.has_data(path) else ""


def _checkpoint_path(options: argparse.Namespace, profile: dict[str, str]) -> Path:
    name = re.sub(r"[^A-Za-z0-9.-]", "_", profile["name"])
    prefix = "" if options.direction == _TO else "from-"
    return Path(options.data_dir) / _CHECKPOINTS / f"{prefix}{name}.sqlite3"


@contextmanager
def _other(profile: dict[str, str], *, is_target: bool, is_idle: bool) -> Iterator[Place]:
    """Open the place of a profile."""
    if data_dir := profile.get("data_dir"):
        with folder.opened(data_dir, as_target=is_target) as place:
            yield place
        return
    yield stage.opened(
        profile["stage"],
        aws_profile=profile.get("aws_profile", ""),
        region=profile.get("region", ""),
        endpoint_url=profile.get("endpoint_url", ""),
        is_idle=is_idle,
    )


def _say(line: str, replaceable: bool) -> None:
    """Write a line; on a terminal the next one takes the place of one that is replaceable."""
    is_terminal: Any = sys.stdout.isatty()
    if replaceable and not is_terminal:
        return
    print(f"{line}\x1b[K" if is_terminal else line, end="\r" if replaceable else "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
