"""Make the operator the author of a command's changes in the audit log of the account.

Commands that concern all accounts, such as those about providers, leave no line: there is no log
that they belong to.
"""

from __future__ import annotations

import getpass
import os
from contextlib import AbstractContextManager

from chalicelib.core import audit
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor

TOOL = "postfinch admin"


def author_of(account_id: int, command: str, *, tool: str = TOOL, resource: str = "") -> Author:
    """Return the operator as the author of a command's changes of an account.

    ``resource`` is what the command is about where the change itself does not say it.
    """
    text = f"{tool} {command}"
    return Author(account_id, Actor("operator", login_name(), text), command, text, resource)


def bound(account_id: int, command: str) -> AbstractContextManager[None]:
    """Make the operator the author of all changes of an account within."""
    return audit.bound(author_of(account_id, command))


def login_name() -> str:
    """Return the name under which the operator is logged in, also before ``sudo``."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that has no name
        return "operator"
