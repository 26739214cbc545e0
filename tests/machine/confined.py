"""Run a command under what a systemd unit denies, where systemd itself does not run.

``unshare -m python confined.py mounts UNIT FOLDER:FOLDER COMMAND...`` makes the file system
read-only but for the folders, drops all capabilities but the unit's, and filters system calls,
executable memory and address families as the unit says, by libseccomp and the lists of
``systemd-analyze``. Root without capabilities has no more rights than the owner of its files.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_MASKED_EQUAL, _EQUAL = 7, 4
_PROT_WRITE, _PROT_EXEC = 2, 4
_NO_SUCH_CALL = -1
_FAMILIES = 46


class _Argument(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class _Filter:
    """One filter of libseccomp; what has no rule gets the default action."""

    def __init__(self, default: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2")
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action: int, call: str, *arguments: _Argument) -> None:
        number = self._library.seccomp_syscall_resolve_name(call.encode())
        if number == _NO_SUCH_CALL:
            return
        array = (_Argument * len(arguments))(*arguments)
        status = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(arguments), array
        )
        # Calls of another architecture have no rule here
        assert status in (0, -errno.EDOM, -errno.EFAULT), (call, status)

    def load(self) -> None:
        assert self._library.seccomp_load(self._context) == 0


def values(unit: str, name: str) -> list[str]:
    """Return the values of a directive, one for each of its lines."""
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def _calls(groups: str) -> set[str]:
    names: set[str] = set()
    for group in groups.split():
        if not group.startswith("@"):
            names.add(group)
            continue
        text = subprocess.run(
            ["systemd-analyze", "--no-pager", "syscall-filter", group],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        lines = [line.strip() for line in text.splitlines()[1:]]
        words = [line for line in lines if line and not line.startswith("#")]
        names |= _calls(" ".join(words))
    return names


def _filter_calls(unit: str) -> None:
    permitted: set[str] = set()
    for value in values(unit, "SystemCallFilter"):
        if value.startswith("~"):
            permitted -= _calls(value[1:])
        else:
            permitted |= _calls(value)
    assert permitted
    # systemd needs these itself to start a service
    calls = _Filter(_REFUSE)
    for name in permitted | {"execve", "exit", "exit_group", "rt_sigreturn"}:
        calls.add(_ALLOW, name)
    calls.load()


def _deny_executable_memory() -> None:
    both = _PROT_WRITE | _PROT_EXEC
    memory = _Filter(_ALLOW)
    memory.add(_REFUSE, "mmap", _Argument(2, _MASKED_EQUAL, both, both))
    for name in ("mprotect", "pkey_mprotect"):
        memory.add(_REFUSE, name, _Argument(2, _MASKED_EQUAL, _PROT_EXEC, _PROT_EXEC))
    memory.load()


def _deny_families(text: str) -> None:
    permitted = {int(getattr(socket, name)) for name in text.split()}
    families = _Filter(_ALLOW)
    for number in set(range(_FAMILIES)) - permitted:
        families.add(_REFUSE, "socket", _Argument(0, _EQUAL, number, 0))
    families.load()


def _mount_read_only(writable: list[str]) -> None:
    """Make everything read-only but these folders, in a name space of mounts of our own."""
    for folder in writable:
        subprocess.run(["mount", "--bind", folder, folder], check=True)
    for line in Path("/proc/self/mounts").read_text().splitlines():
        path = line.split()[1]
        is_kept = any(path == each or path.startswith(f"{each}/") for each in writable)
        if not is_kept and not path.startswith(("/proc", "/sys", "/dev")):
            subprocess.run(["mount", "-o", "remount,bind,ro", path], check=False)


def main() -> None:
    stage, path, folders, *command = sys.argv[1:]
    unit = Path(path).read_text()
    if stage == "mounts":
        _mount_read_only(folders.split(":"))
        capability = values(unit, "AmbientCapabilities")[0].removeprefix("CAP_").lower()
        options = [f"--{kind}=-all,+{capability}" for kind in ("inh-caps", "ambient-caps")]
        bounds = f"--bounding-set=-all,+{capability}"
        itself = [sys.executable, __file__, "calls", path, folders]
        os.execvp("setpriv", ["setpriv", "--no-new-privs", bounds, *options, *itself, *command])
    _deny_families(values(unit, "RestrictAddressFamilies")[0])
    if values(unit, "MemoryDenyWriteExecute") == ["yes"]:
        _deny_executable_memory()
    _filter_calls(unit)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
