"""A mail host for tests: real SMTP on a loopback port, with any misbehaviour scripted.

Each command is answered as a well-behaved host would, unless `answers` has something for it: a
list, used up one entry per command. An entry is the bytes to send, or one of

- `HANG_UP`: close the connection,
- `SILENCE`: say nothing until the client goes away,
- `DEAF`: say nothing and read nothing until the host is closed,

or a tuple of bytes and one of these. The keys are verbs, plus `CONNECT` for the greeting and `.`
for the end of a message.
"""

from __future__ import annotations

import socket
import ssl
import threading
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HANG_UP: Final = "hang up"
SILENCE: Final = "silence"
DEAF: Final = "deaf"
Answer = bytes | str | tuple[bytes, str]
Answers = Mapping[str, Sequence[Answer]]

STANDARD = ("PIPELINING", "SIZE 1000000", "8BITMIME", "SMTPUTF8")

_USUAL = {
    "CONNECT": b"220 scripted ESMTP\r\n",
    "HELO": b"250 scripted\r\n",
    "MAIL": b"250 2.1.0 sender ok\r\n",
    "RCPT": b"250 2.1.5 recipient ok\r\n",
    "DATA": b"354 go ahead\r\n",
    ".": b"250 2.0.0 taken\r\n",
    "RSET": b"250 2.0.0 reset\r\n",
    "STARTTLS": b"220 2.0.0 ready\r\n",
    "QUIT": b"221 2.0.0 bye\r\n",
}


@dataclass
class Conversation:
    """What the host saw of one connection."""

    client: str
    commands: list[str] = field(default_factory=list)
    batches: list[bytes] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)
    encrypted: bool = False

    def verbs(self) -> list[str]:
        """Return the first word of each command."""
        return [command.split(" ")[0].split(":")[0].upper() for command in self.commands]


class ScriptedServer:
    """The host; use it as a context manager."""

    def __init__(
        self,
        *,
        extensions: Sequence[str] = STANDARD,
        answers: Answers | None = None,
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._extensions = extensions
        self._answers = {verb: list(scripted) for verb, scripted in (answers or {}).items()}
        self.tls = tls
        self.login = login
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.closed = threading.Event()
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self.conversations: list[Conversation] = []

    @property
    def address(self) -> tuple[str, int]:
        """Where the host listens."""
        return self.host, self.port

    @property
    def contents(self) -> list[bytes]:
        """Return every accepted message, as it came over the wire without the final dot."""
        return [content for each in self.conversations for content in each.contents]

    def __enter__(self) -> ScriptedServer:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(5)

    def hang_up(self) -> None:
        """Close every connection, as a host does when it has waited for too long."""
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            connection.close()

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except OSError:
                return
            conversation = Conversation(peer[0])
            self.keep(connection)
            self.conversations.append(conversation)
            self._start(self._converse, connection, conversation)

    def _converse(self, connection: socket.socket, conversation: Conversation) -> None:
        with connection, suppress(OSError, _Over):
            _Dialogue(connection, conversation, self).run()

    def keep(self, connection: socket.socket) -> None:
        """Remember a connection, to close it with the host."""
        with self._lock:
            self._open.append(connection)

    def answer(self, verb: str) -> Answer:
        """Return the reply to a command."""
        with self._lock:
            scripted = self._answers.get(verb)
            if scripted:
                return scripted.pop(0)
        if verb == "EHLO":
            return self._hello()
        return _USUAL.get(verb, b"502 5.5.1 no such command\r\n")

    def _hello(self) -> bytes:
        lines = ["scripted", *self._extensions]
        marked = [f"250-{line}" for line in lines[:-1]] + [f"250 {lines[-1]}"]
        return "".join(f"{line}\r\n" for line in marked).encode()


class _Over(Exception):
    """The connection has ended."""


class _Dialogue:
    def __init__(
        self, connection: socket.socket, conversation: Conversation, server: ScriptedServer
    ) -> None:
        self._socket = connection
        self._seen = conversation
        self._server = server
        self._buffer = b""

    def run(self) -> None:
        self._say("CONNECT")
        while True:
            command = self._line()
            self._seen.commands.append(command)
            verb = self._seen.verbs()[-1]
            if verb == "AUTH":
                self._authenticate(command)
                continue
            said = self._say(verb)
            if verb == "DATA" and said.startswith(b"354"):
                self._take_content()
            elif verb == "STARTTLS" and said.startswith(b"220"):
                self._encrypt()
            elif verb == "QUIT":
                return

    def _say(self, verb: str) -> bytes:
        answer = self._server.answer(verb)
        said = b""
        for part in answer if isinstance(answer, tuple) else (answer,):
            if part == HANG_UP:
                raise _Over
            if part == SILENCE:
                while self._receive():
                    pass
            if part == DEAF:
                self._server.closed.wait()
                raise _Over
            assert isinstance(part, bytes)
            self._socket.sendall(part)
            said = part
        return said

    def _take_content(self) -> None:
        content = bytearray(b"\r\n" + self._buffer)
        searched = 0
        while (ended := content.find(b"\r\n.\r\n", searched)) < 0:
            searched = max(0, len(content) - 4)
            content += self._receive()
        self._buffer = bytes(content[ended + 5 :])
        self._seen.commands.append(".")
        if self._say(".").startswith(b"250"):
            self._seen.contents.append(bytes(content[2 : ended + 2]))

    def _encrypt(self) -> None:
        assert self._server.tls is not None
        self._socket = self._server.tls.wrap_socket(self._socket, server_side=True)
        self._server.keep(self._socket)
        self._seen.encrypted = True

    def _authenticate(self, command: str) -> None:
        words = command.split(" ")
        if words[1] == "PLAIN":
            _, username, password = b64decode(words[2]).decode().split("\0")
        else:
            self._socket.sendall(b"334 VXNlcm5hbWU6\r\n")
            username = b64decode(self._line()).decode()
            self._socket.sendall(b"334 UGFzc3dvcmQ6\r\n")
            password = b64decode(self._line()).decode()
        good = (username, password) == self._server.login
        self._socket.sendall(b"235 2.7.0 welcome\r\n" if good else b"535 5.7.8 who are you\r\n")

    def _line(self) -> str:
        while b"\r\n" not in self._buffer:
            self._buffer += self._receive()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line.decode()

    def _receive(self) -> bytes:
        octets = self._socket.recv(65_536)
        if not octets:
            raise _Over
        self._seen.batches.append(octets)
        return octets


@cache
def certificate() -> tuple[ssl.SSLContext, bytes]:
    """Return a server's TLS settings with a self-signed certificate, and the certificate in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    )
    now = datetime.now(UTC)
    certificate_ = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate_.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "host.pem"
        path.write_bytes(pem + secret)
        context.load_cert_chain(path)
    return context, pem
