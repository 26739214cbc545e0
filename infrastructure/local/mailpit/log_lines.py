"""Write the lines that Mailpit writes when it listens.

Modules of Testcontainers and the extension of Quarkus wait for them in the output of the container:
``.*\\[http\\] accessible via.*``.
"""

from __future__ import annotations


def listening_lines(catch_port: int, mailpit_port: int, root: str = "") -> list[str]:
    """Return a line for each port that is served; ``root`` is the path below which the API is."""
    lines = []
    if catch_port:
        lines.append(f"[smtpd] starting on [::]:{catch_port} (no encryption)")
    if mailpit_port:
        lines.append(f"[http] accessible via http://localhost:{mailpit_port}{root}/")
    return lines
