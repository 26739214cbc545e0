from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infrastructure.local.supervisor import forks
from tests.unit.infrastructure.clouds import ROOT

pytestmark = pytest.mark.skipif(not forks.FORKS, reason="processes are forked on Linux only")

# Runs the module `talker` of the directory in argv[1], waits for its end or kills it at once, and
# prints its exit status and its log.
RUNNER = """
import os, socket, sys
from pathlib import Path
from infrastructure.local.supervisor import forks
from infrastructure.local.supervisor.child import Child, Process
where = Path(sys.argv[1])
sys.path.insert(0, sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0))
environment = {"PATH": os.environ["PATH"], "COLOUR": "red", "LISTENER": str(listener.fileno())}
forks.preload(["shared"], environment)
lock = os.open(where / "lock", os.O_RDWR | os.O_CREAT)
process = Process(
    "talker",
    ("-m", "talker", "a", "b"),
    environment,
    orphan_signal=15,
    descriptors=(listener.fileno(),),
)
child = Child(process, where, where)
child._running.wait() if sys.argv[2] == "wait" else child.kill()
print(child.status(), (where / "talker.log").read_text())
"""


def run(where: Path, main: str, then: str = "wait") -> tuple[str, str]:
    """Run a module with this ``main``; return its exit status and what it wrote."""
    (where / "shared.py").write_text(
        "import os, sys\nimporter = os.getpid()\nsys.setrecursionlimit(50_000)\n"
    )
    body = "".join(f"    {line}\n" for line in main.splitlines())
    (where / "talker.py").write_text(f"import os, signal, sys\ndef main():\n{body}")
    process = subprocess.run(
        [sys.executable, "-c", RUNNER, str(where), then],
        cwd=ROOT,
        env={**os.environ, "AWS_PROFILE": "of-the-caller"},
        capture_output=True,
        text=True,
        check=True,
    )
    status, _, log = process.stdout.partition(" ")
    return status, log.strip()


def test_a_module_gets_its_arguments_environment_directory_and_log(tmp_path: Path) -> None:
    status, log = run(
        tmp_path,
        "print(sys.argv[1:], os.environ['COLOUR'], 'AWS_PROFILE' in os.environ)\n"
        "print(os.getcwd(), file=sys.stderr)",
    )
    assert status == "0"
    assert log.splitlines() == ["['a', 'b'] red False", str(tmp_path)]


@pytest.mark.parametrize(
    ("main", "status"),
    [
        ("return 3", "3"),
        ("sys.exit(4)", "4"),
        ("os.kill(os.getpid(), signal.SIGTERM)", str(-15)),
        ("raise ValueError('what went wrong')", "1"),
    ],
)
def test_the_status_says_how_the_module_ended(tmp_path: Path, main: str, status: str) -> None:
    assert run(tmp_path, main)[0] == status


def test_an_exception_is_in_the_log(tmp_path: Path) -> None:
    assert run(tmp_path, "raise ValueError('what went wrong')")[1].endswith("what went wrong")


def test_a_package_runs_its_main_module(tmp_path: Path) -> None:
    package = tmp_path / "shared"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("def main(): pass")
    assert run(tmp_path, "import shared.__main__; print('shared.__main__' in sys.modules)") == (
        "0",
        "True",
    )


def test_what_was_preloaded_is_not_imported_again(tmp_path: Path) -> None:
    main = "import shared; print(shared.importer == os.getppid() != os.getpid())"
    assert run(tmp_path, main)[1] == "True"


def test_a_library_that_raises_the_recursion_limit_does_so_for_no_fork(tmp_path: Path) -> None:
    _, log = run(tmp_path, "print(sys.getrecursionlimit())")
    assert int(log) == 1000


def test_a_fork_has_its_own_session_and_name(tmp_path: Path) -> None:
    main = "print(os.getsid(0) == os.getpid(), open('/proc/self/comm').read().strip())"
    assert run(tmp_path, main)[1] == "True talker"


def test_a_fork_gives_freed_memory_back(tmp_path: Path) -> None:
    main = "import threading; print([each.name for each in threading.enumerate()])"
    assert run(tmp_path, main)[1] == "['MainThread', 'allocator']"


def test_a_fork_holds_no_file_of_the_supervisor_but_what_it_is_handed(tmp_path: Path) -> None:
    main = (
        "import socket\n"
        "numbers = sorted(map(int, os.listdir('/proc/self/fd')))\n"
        "# That of the listing is gone\n"
        "print([each for each in numbers if os.path.exists(f'/proc/self/fd/{each}')][3:])\n"
        "print(os.environ['LISTENER'])\n"
        "listener = socket.socket(fileno=int(os.environ['LISTENER']))\n"
        "print(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))"
    )
    descriptors, number, listens = run(tmp_path, main)[1].splitlines()
    assert (descriptors, listens) == (f"[{number}]", "1")


def test_what_a_fork_prints_is_in_the_log_at_once(tmp_path: Path) -> None:
    assert run(tmp_path, "print('last words')\nos.kill(os.getpid(), 9)")[1] == "last words"


def test_a_fork_that_was_started_a_moment_ago_can_be_killed(tmp_path: Path) -> None:
    assert run(tmp_path, "signal.pause()", then="kill")[0] == "-9"
