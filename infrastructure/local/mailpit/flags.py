"""Read the flags of the command `mailpit`, as the variables of the environment that mean the same.

``--smtp-auth-accept-any`` is ``MP_SMTP_AUTH_ACCEPT_ANY=true``, ``--max 500`` is
``MP_MAX_MESSAGES=500``. What the variables mean here is in :mod:`.variables`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Flags whose variable has another name than their own
_OTHER_NAMES = {
    "max": "MAX_MESSAGES",
    "listen": "UI_BIND_ADDR",
    "smtp": "SMTP_BIND_ADDR",
    "pop3": "POP3_BIND_ADDR",
    "db-file": "DATABASE",
}
_LETTERS = {
    "d": "database",
    "m": "max",
    "l": "listen",
    "s": "smtp",
    "q": "quiet",
    "v": "verbose",
    "t": "tag",
}
_FLAG = re.compile(r"--([a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){0,8})|-([a-z])")


def variables_of(arguments: Sequence[str]) -> dict[str, str]:
    """Return the variables; raises ValueError with one line about what is no flag.

    The command takes nothing but flags, so what follows a flag and begins with no hyphen is its
    value. A flag without a value is ``true``.
    """
    variables: dict[str, str] = {}
    name = ""
    for argument in arguments:
        if not argument.startswith("-"):
            if not name:
                raise ValueError(f"{argument!r} is neither a command nor the value of a flag")
            variables[name], name = argument, ""
            continue
        flag, equals, value = argument.partition("=")
        name = _variable_of(flag)
        variables[name] = value if equals else "true"
        if equals:
            name = ""
    return variables


def _variable_of(flag: str) -> str:
    match = _FLAG.fullmatch(flag)
    word = match and (match[1] or _LETTERS.get(match[2], ""))
    if not word:
        raise ValueError(f"{flag!r} is no flag of Mailpit")
    return "MP_" + (_OTHER_NAMES.get(word) or word.upper().replace("-", "_"))
