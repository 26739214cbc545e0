"""Complete the settings of production in a container, whose ports an engine maps to the usual ones.

Without root, a process of a container binds ports above 1024. The engine maps 80, 443, 587, 465 and
25 of the machine to them, so links name those. A port that is set in the environment or in the
configuration file, as with the network of the host, is the same inside and outside.
"""

from __future__ import annotations

from collections.abc import Mapping

from infrastructure.machine import config_file, configuration

#: The ports inside, which the Dockerfile exposes
PORTS = {
    "HTTP_PORT": "8080",
    "HTTPS_PORT": "8443",
    "SUBMISSION_PORT": "2587",
    "SUBMISSIONS_PORT": "2465",
    "INBOUND_PORT": "2525",
}
_SEEN_OUTSIDE = ("PUBLIC_URL", "TRACKING_PORT")


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a container adds to ``environ``; raises ``ConfigError``."""
    caller = config_file.environment(environ)
    # Without the ports inside, they follow from those outside
    outside = configuration.read(environ)
    return {
        **{name: port for name, port in PORTS.items() if name not in caller},
        **{name: outside[name] for name in _SEEN_OUTSIDE},
    }
