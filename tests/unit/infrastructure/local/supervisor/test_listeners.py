from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from infrastructure.local.supervisor import ports
from infrastructure.local.supervisor.child import Child, Process
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.local.supervisor.listeners import Listeners, listen, listening_sockets
from infrastructure.local.supervisor.ports import MailboxPorts, mailbox_ports
from tests.free_ports import free_port

LOOPBACK = "127.0.0.1"
# Serves one client at the socket that it gets
PROGRAM = """
import os, socket
listener = socket.socket(fileno=int(os.environ["CATCH_PORT_SOCKETS"]))
listener.setblocking(True)
connection, _ = listener.accept()
connection.sendall(b"served")
"""


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> MailboxPorts:
    """Usual ports that no other service has, and that look free to everybody."""
    usual = MailboxPorts(*(free_port() for _ in range(4)))
    monkeypatch.setattr(ports, "USUAL_MAILBOX_PORTS", usual)
    monkeypatch.setattr(ports, "is_free", lambda port, *kinds: True)
    return usual


@pytest.fixture
def services() -> Iterator[tuple[Listeners, Listeners]]:
    pair = (Listeners(), Listeners())
    yield pair
    for each in pair:
        each.close()


def test_of_two_services_that_find_a_port_free_the_second_leaves_it_out(
    usual: MailboxPorts, services: tuple[Listeners, Listeners]
) -> None:
    first, second = services
    assert mailbox_ports({}, (), LOOPBACK, first) == (usual, [])
    other = free_port()
    served_ports, left_out = mailbox_ports({"POP3_PORT": other}, (), LOOPBACK, second)
    assert asdict(served_ports) == {"catch": 0, "mailpit": 0, "pop3": other, "imap": 0}
    assert (
        left_out[0]
        == f"Port {usual.catch} is taken and left out; set CATCH_PORT to use another one."
    )
    assert len(left_out) == 3
    assert list(second.sockets) == ["POP3_PORT"]


def test_a_port_that_was_asked_for_ends_the_start_if_another_service_was_faster(
    usual: MailboxPorts, services: tuple[Listeners, Listeners]
) -> None:
    first, second = services
    mailbox_ports({"IMAP_PORT": usual.imap}, (), LOOPBACK, first)
    with pytest.raises(ConfigError, match=f"port {usual.imap} is taken .*set IMAP_PORT to"):
        mailbox_ports({"IMAP_PORT": usual.imap}, (), LOOPBACK, second)


def test_a_port_of_something_else_or_switched_off_is_not_opened(
    usual: MailboxPorts, services: tuple[Listeners, Listeners]
) -> None:
    served_ports, left_out = mailbox_ports(
        {"CATCH_PORT": 0}, {usual.mailpit}, LOOPBACK, services[0]
    )
    assert (served_ports.catch, served_ports.mailpit) == (0, 0)
    assert [f"Port {usual.mailpit} " in line for line in left_out] == [True]
    assert sorted(services[0].sockets) == ["IMAP_PORT", "POP3_PORT"]


def test_a_process_serves_the_port_also_after_it_is_started_again(tmp_path: Path) -> None:
    listeners, port = Listeners(), free_port()
    listeners.open("CATCH_PORT", LOOPBACK, port)
    environment = {**os.environ, **listeners.variables(["CATCH_PORT", "IMAP_PORT"])}
    assert environment["IMAP_PORT_SOCKETS"] == ""
    descriptors = listeners.descriptors("CATCH_PORT", "IMAP_PORT")
    process = Process("serving", ("-S", "-c", PROGRAM), environment, descriptors=descriptors)
    # Who connects before there is a process waits for it
    with socket.create_connection((LOOPBACK, port), 10) as client:
        child = Child(process, tmp_path, tmp_path)
        assert client.recv(6, socket.MSG_WAITALL) == b"served"
    child._running.wait(10)
    with socket.create_connection((LOOPBACK, port), 10) as client:
        child.restart()
        assert client.recv(6, socket.MSG_WAITALL) == b"served"
    child.kill()
    listeners.close()
    socket.create_server((LOOPBACK, port)).close()


def test_a_process_without_a_supervisor_listens_itself() -> None:
    port = free_port()
    assert listening_sockets({"POP3_PORT": "0", "POP3_PORT_SOCKETS": ""}, "POP3_PORT") == []
    (listener,) = listening_sockets({"POP3_PORT": str(port)}, "POP3_PORT")
    with listener, pytest.raises(OSError, match="in use"):
        listen(LOOPBACK, port)


def test_all_addresses_of_a_host_or_none_are_bound() -> None:
    sockets = listen("localhost", free_port())
    addresses = {each[4][0] for each in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}
    assert {each.getsockname()[0] for each in sockets} == addresses
    for each in sockets:
        each.close()
