from __future__ import annotations

import pytest

from chalicelib.core.settings import Settings
from infrastructure.local.outgoing_mail import notice_of_unused, way_out, without_way_out

SINK = Settings(deliver=True, smarthost="127.0.0.1:2600")


def test_settings_of_a_way_out_are_dropped_and_named() -> None:
    environ = {"SMARTHOST": "mail.test", "SMARTHOST_TLS": "off", "MX_PORT": "25", "STAGE": "x"}
    assert without_way_out(environ) == {"STAGE": "x"}
    assert notice_of_unused(environ) == (
        "SMARTHOST, SMARTHOST_TLS and MX_PORT are set, but no mail leaves this machine without "
        "--deliver"
    )
    assert notice_of_unused({"SMARTHOST": "mail.test"}) == (
        "SMARTHOST is set, but no mail leaves this machine without --deliver"
    )
    assert notice_of_unused({"TRANSPORT": "mx"}) == ""


@pytest.mark.parametrize(
    ("current", "way"),
    [
        (Settings(deliver=False, smarthost="mail.test:587"), ""),
        (Settings(deliver=False, transport="mx"), ""),
        (Settings(smarthost="mail.test:587"), "mail.test:587"),
        (Settings(transport="mx"), "the recipients' own mail hosts"),
        (Settings(transport="ses"), "Amazon SES"),
        (SINK, "the smarthosts of sending IPs"),
    ],
)
def test_the_way_out_is_named(current: Settings, way: str) -> None:
    assert way_out(current, sink_port=2600) == way
