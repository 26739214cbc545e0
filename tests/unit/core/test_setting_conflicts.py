from __future__ import annotations

import re
from pathlib import Path

import pytest

from chalicelib.core.setting_conflicts import check_files
from chalicelib.core.settings import load, read_each

LOGIN = {"SMARTHOST_USERNAME": "u", "SMARTHOST_PASSWORD": "p"}


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"SMARTHOST_USERNAME": "u"}, "SMARTHOST_USERNAME is set without SMARTHOST_PASSWORD"),
        ({"SMARTHOST_PASSWORD": "p"}, "SMARTHOST_PASSWORD is set without SMARTHOST_USERNAME"),
        ({"RELAY_CERTIFICATE": "a.pem"}, "RELAY_CERTIFICATE is set without RELAY_KEY"),
        ({"RELAY_KEY": "a.pem"}, "RELAY_KEY is set without RELAY_CERTIFICATE"),
        (
            {**LOGIN, "SMARTHOST": "mail.test:587", "SMARTHOST_TLS": "off"},
            "SMARTHOST_TLS='off' is not allowed with SMARTHOST_USERNAME for mail.test",
        ),
        ({"RETRY_CAP": "10"}, "RETRY_CAP=10 is not allowed with RETRY_BASE=1200"),
        ({"RELAY_TLS_PORTS": "465, 587"}, "RELAY_PORTS and RELAY_TLS_PORTS both have port 587"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    environ: dict[str, str], text: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}[^\n]*$"):
        load(environ)
    read_each(environ)


@pytest.mark.parametrize(
    "environ",
    [
        {**LOGIN, "SMARTHOST": "mail.test:587"},
        {**LOGIN, "SMARTHOST": "mail.test:587", "SMARTHOST_TLS": "opportunistic"},
        *(
            {**LOGIN, "SMARTHOST": host, "SMARTHOST_TLS": "off"}
            for host in ("localhost", "[::1]:2")
        ),
        {"RELAY_CERTIFICATE": "a.pem", "RELAY_KEY": "b.pem"},
        {"RETRY_CAP": "10", "RETRY_BASE": "10"},
    ],
)
def test_settings_that_agree_are_accepted(environ: dict[str, str]) -> None:
    load(environ)


def test_a_file_that_is_not_there_is_refused_by_the_process_that_needs_it(tmp_path: Path) -> None:
    path = tmp_path / "city.mmdb"
    current = load({"GEOIP_DATABASE": str(path)})
    with pytest.raises(ValueError, match=r"^GEOIP_DATABASE='.*' is not allowed: it must be a file"):
        check_files(current)
    path.touch()
    check_files(current)
