from __future__ import annotations

import os
from pathlib import Path

from infrastructure.local.supervisor.child import LOG_LIMIT, Child, Process


def child(tmp_path: Path, program: str) -> Child:
    arguments = ("-S", "-c", program)
    return Child(Process("talker", arguments, dict(os.environ)), tmp_path, tmp_path)


def finished(child: Child) -> int | None:
    child._running.wait(10)
    return child.status()


def test_output_of_a_child_on_both_streams_is_appended_to_its_log(tmp_path: Path) -> None:
    program = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    for _ in range(2):
        assert finished(child(tmp_path, program)) == 0
    assert (tmp_path / "talker.log").read_text().split() == ["out", "err"] * 2


def test_output_of_a_child_goes_to_a_descriptor_instead(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output:
        arguments = ("-S", "-c", "print('out')")
        process = Process("talker", arguments, dict(os.environ))
        talker = Child(process, tmp_path, tmp_path, output.fileno())
        assert finished(talker) == 0
    assert (tmp_path / "output").read_text() == "out\n"
    assert not (tmp_path / "talker.log").exists()
    assert (talker.last_lines(1), talker.log) == ("", "above")


def test_a_log_over_the_limit_is_rotated_at_the_next_start(tmp_path: Path) -> None:
    log = tmp_path / "talker.log"
    log.write_bytes(b"x" * (LOG_LIMIT + 1))
    finished(child(tmp_path, "print('new')"))
    assert log.read_text() == "new\n"
    assert (tmp_path / "talker.log.1").stat().st_size == LOG_LIMIT + 1


def test_a_child_leads_its_own_session_so_that_ctrl_c_does_not_reach_it(tmp_path: Path) -> None:
    finished(child(tmp_path, "import os; print(os.getpid() == os.getsid(0) != os.getppid())"))
    assert (tmp_path / "talker.log").read_text() == "True\n"
