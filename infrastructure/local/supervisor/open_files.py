"""Make sure that the runtime's processes may open enough files; connections are files as well."""

from __future__ import annotations

import resource

from infrastructure.local.supervisor.data_folder import ConfigError

#: What the relay, the API and the sink need together with some dozen clients each
LEAST = 512
_USUAL = 4096


def allow() -> None:
    """Raise the soft limit as far as the hard one allows; raises :class:`ConfigError`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _USUAL if hard == resource.RLIM_INFINITY else min(_USUAL, hard)
    if most < LEAST:
        raise ConfigError(
            f"a process may open {hard} files only and needs {LEAST}: "
            f"raise the limit, for example with `ulimit -n {_USUAL}`"
        )
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
