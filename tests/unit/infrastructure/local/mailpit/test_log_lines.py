from __future__ import annotations

import re

import pytest

from infrastructure.local.mailpit.log_lines import listening_lines


# Quarkus, Testcontainers of Spring and Kotlin projects, and scripts that read `docker logs`
@pytest.mark.parametrize(
    "pattern",
    [
        r".*\[http\] accessible via.*\n",
        r".*accessible via.*",
        r".*accessible via.*8025.*",
        r".*\[smtpd\] starting on .*:1025.*",
    ],
)
def test_programs_find_the_line_that_they_wait_for(pattern: str) -> None:
    lines = [f"{line}\n" for line in listening_lines(1025, 8025)]
    assert any(re.match(pattern, line) for line in lines)


def test_a_port_that_is_not_served_has_no_line() -> None:
    assert listening_lines(0, 0) == []
    (line,) = listening_lines(0, 9025, "/mail")
    assert line.endswith("http://localhost:9025/mail/")
