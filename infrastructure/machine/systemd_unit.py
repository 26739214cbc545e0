"""Write the systemd unit of production on one machine.

The service has no root, sees a file system that it can only read but for its own folders, and may
bind ports below 1024. Its system calls are those that systemd counts as usual for services.
``python -m infrastructure.machine.systemd_unit COMMAND`` prints it.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import config_file, settings

USER = "postfinch"
#: Seconds for what runs to end: a mail host may answer a message ten minutes late
STOP_SECONDS = 900
_OPEN_FILES = 65_536
_STATE = Path("/var/lib")
#: Folders that ``ProtectHome=yes`` hides
_HOMES = (Path("/home"), Path("/root"), Path("/run/user"))

_UNIT = """\
# Postfinch, production on one machine. To install it:
#
#   {command_text} service | sudo tee /etc/systemd/system/postfinch.service
#   sudo systemctl daemon-reload
#   sudo systemctl enable --now postfinch
#   journalctl -u postfinch -f
[Unit]
Description=Postfinch email delivery service
After=network-online.target nss-lookup.target
Wants=network-online.target

[Service]
Type=exec
{execution}
User={user}
{folders}
UMask=0077

# SIGTERM to the first process: it ends the others in order, and mail under way is not cut off
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec={stop_seconds}
Restart=on-failure
RestartSec=2
# Status 2: the settings cannot be; another start would not help
RestartPreventExitStatus=2
LimitNOFILE={open_files}
OOMPolicy=continue

# Ports below 1024, and no other right of root
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes

ProtectSystem=strict
ProtectHome={protect_home}
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
ProcSubset=all
RemoveIPC=yes

RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Unit:
    """What differs between machines: the command, its user and its folders.

    ``path`` is where the modules of a checkout are; empty if they are installed.
    """

    command: list[str]
    config: Path
    data_dir: Path
    backup_dir: Path | None = None
    user: str = USER
    path: str = ""

    def text(self) -> str:
        """Return the unit."""
        return _UNIT.format(
            command_text=" ".join(self.command),
            execution=self._execution(),
            user=self.user,
            folders="\n".join(self._folders()),
            stop_seconds=STOP_SECONDS,
            open_files=_OPEN_FILES,
            protect_home="read-only" if self._is_at_home() else "yes",
        )

    def _execution(self) -> str:
        program = " ".join(map(_quoted, self.command))
        options = f"--config {_quoted(str(self.config))} --data-dir {_quoted(str(self.data_dir))}"
        lines = [f"ExecStart={program} serve {options}"]
        if self.path:
            lines.insert(0, f"Environment={_quoted(f'PYTHONPATH={self.path}')}")
        return "\n".join(lines)

    def _folders(self) -> list[str]:
        lines: list[str] = []
        writable = [self.backup_dir] if self.backup_dir else []
        if self.data_dir.parent == _STATE:
            lines += [f"StateDirectory={self.data_dir.name}", "StateDirectoryMode=0700"]
        else:
            writable.insert(0, self.data_dir)
        if writable:
            paths = " ".join(_quoted(str(each)) for each in writable)
            lines.append(f"ReadWritePaths={paths}")
        return lines

    def _is_at_home(self) -> bool:
        paths = [Path(self.command[0]), self.config, self.data_dir, Path(self.path or "/")]
        paths += [self.backup_dir] if self.backup_dir else []
        return any(path.is_relative_to(home) for path in paths for home in _HOMES)


def _quoted(text: str) -> str:
    """Return a word of a unit: ``%`` and ``$`` mean themselves (systemd.syntax(7))."""
    word = text.replace("%", "%%").replace("$", "$$")
    if not any(each.isspace() or each in "\"'\\;" for each in word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main(arguments: list[str] | None = None) -> int:
    """Print the unit for the configuration of this machine; return the exit status."""
    parser = argparse.ArgumentParser(description="Print a systemd unit.")
    parser.add_argument("--user", default=USER)
    parser.add_argument("--path", default="")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    try:
        environ = config_file.environment(os.environ)
    except (ConfigError, PermissionError) as error:
        print(f"postfinch: {error}", file=sys.stderr)
        return 2
    backup_dir = environ.get("BACKUP_DIR")
    unit = Unit(
        command=options.command,
        config=config_file.path_of(os.environ).absolute(),
        data_dir=Path(environ.get("DATA_DIR") or settings.DATA_DIR).absolute(),
        backup_dir=Path(backup_dir).absolute() if backup_dir else None,
        user=options.user,
        path=options.path,
    )
    print(unit.text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
