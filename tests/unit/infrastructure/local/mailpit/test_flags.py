from __future__ import annotations

import pytest

from infrastructure.local.mailpit.flags import variables_of


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        (["--smtp-auth-accept-any"], {"MP_SMTP_AUTH_ACCEPT_ANY": "true"}),
        (["--max", "500", "-v"], {"MP_MAX_MESSAGES": "500", "MP_VERBOSE": "true"}),
        (["--max=500"], {"MP_MAX_MESSAGES": "500"}),
        (["-d", "/data/mailpit.db"], {"MP_DATABASE": "/data/mailpit.db"}),
        (["--db-file=/data/m.db"], {"MP_DATABASE": "/data/m.db"}),
        (
            ["--smtp", "0.0.0.0:1025", "--listen", "0.0.0.0:8025", "--pop3", "[::]:1110"],
            {
                "MP_SMTP_BIND_ADDR": "0.0.0.0:1025",
                "MP_UI_BIND_ADDR": "0.0.0.0:8025",
                "MP_POP3_BIND_ADDR": "[::]:1110",
            },
        ),
        (["--quiet=false", "--webroot", "mail"], {"MP_QUIET": "false", "MP_WEBROOT": "mail"}),
        ([], {}),
    ],
)
def test_flags_are_variables(flags: list[str], variables: dict[str, str]) -> None:
    assert variables_of(flags) == variables


@pytest.mark.parametrize("flags", [["-x"], ["---x"], ["--Max"], ["serve"], ["-v=1", "more"]])
def test_what_is_no_flag_is_refused_by_its_name(flags: list[str]) -> None:
    with pytest.raises(ValueError, match=flags[-1]):
        variables_of(flags)
