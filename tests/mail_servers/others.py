"""Run Exim, OpenSMTPD, and Dovecot for LMTP and for submission."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.free_ports import free_port
from tests.mail_servers.chroot import copy_system, running
from tests.mail_servers.mailbox import Mailbox

_NOBODY = 65534

_EXIM = """
daemon_smtp_ports = {plain} : {bare} : {tls}
local_interfaces = 127.0.0.1
primary_hostname = exim.inbox.test
exim_user = Debian-exim
exim_group = Debian-exim
never_users =
deliver_drop_privilege = true
spool_directory = /var/spool/exim4
log_file_path = /tmp/exim-%slog
host_lookup =
rfc1413_hosts =
keep_environment =
smtputf8_advertise_hosts = ${{if eq{{$received_port}}{{{bare}}}{{}}{{*}}}}
pipelining_advertise_hosts = ${{if eq{{$received_port}}{{{bare}}}{{}}{{*}}}}
chunking_advertise_hosts = ${{if eq{{$received_port}}{{{bare}}}{{}}{{*}}}}
dsn_advertise_hosts = ${{if eq{{$received_port}}{{{bare}}}{{}}{{*}}}}
message_size_limit = 200K
tls_advertise_hosts = ${{if eq{{$received_port}}{{{tls}}}{{*}}{{}}}}
tls_certificate = /etc/self-signed.pem
tls_require_ciphers = NORMAL:-VERS-ALL:+VERS-TLS1.3
acl_smtp_rcpt = check_rcpt
begin acl
check_rcpt:
  deny local_parts = missing
       message = 5.1.1 Unknown user
  defer local_parts = later
        message = 4.2.0 Try again
  accept domains = inbox.test
  deny message = relay not permitted
begin routers
all:
  driver = accept
  transport = mailbox
begin transports
mailbox:
  driver = appendfile
  directory = /var/mail/all
  maildir_format
  user = Debian-exim
"""
_OPENSMTPD = """
listen on 127.0.0.1 port {port}
smtp max-message-size "200000"
action store maildir "/var/mail/all" virtual {{ "@inbox.test" = nobody }}
match from any for domain "inbox.test" rcpt-to regex "^[^m]" action store
"""
_DOVECOT = """
protocols = lmtp submission
base_dir = /run/dovecot
ssl = no
disable_plaintext_auth = no
log_path = /tmp/dovecot-log
hostname = dovecot.inbox.test
default_process_limit = 20
mail_uid = {uid}
mail_gid = {uid}
first_valid_uid = 100
first_valid_gid = 100
mail_home = /var/mail/%n
mail_location = maildir:/var/mail/%n
mail_plugins = quota
submission_relay_host = 127.0.0.1
submission_relay_port = {relay}
plugin {{
  quota = count:User quota
  quota_rule = *:storage=10M
  quota_vsizes = yes
  quota_grace = 0
}}
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = passwd-file
  args = username_format=%n /etc/users
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
service submission-login {{
  chroot =
  inet_listener submission {{
    address = 127.0.0.1
    port = {submission}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its ports by name, and what it stored."""

    ports: dict[str, int]
    mailbox: Mailbox


@contextmanager
def run_exim(folder: Path, certificates: Path) -> Iterator[Server]:
    """Run Exim with the ports `plain`, `bare` (no extensions) and `tls` (TLS 1.3, self-signed)."""
    root = copy_system(folder, "exim4-daemon-light")
    ports = {name: free_port() for name in ("plain", "bare", "tls")}
    shutil.copy(certificates / "self-signed.pem", root / "etc")
    (root / "etc/exim.conf").write_text(_EXIM.format(**ports))
    _own(root, 991, "var/spool/exim4", "var/mail", "tmp", "etc/self-signed.pem")
    command = ["/usr/sbin/exim4", "-C", "/etc/exim.conf", "-bdf", "-oP", "/tmp/exim.pid"]
    with running(root, command, list(ports.values())):
        yield _server(root, ports, "var/spool/exim4/input")


@contextmanager
def run_opensmtpd(folder: Path) -> Iterator[Server]:
    """Run OpenSMTPD."""
    root = copy_system(folder, "opensmtpd")
    port = free_port()
    (root / "etc/smtpd.conf").write_text(_OPENSMTPD.format(port=port))
    (root / "var/spool/smtpd").mkdir(parents=True)
    (root / "var/spool/smtpd").chmod(0o711)
    _own(root, _NOBODY, "var/mail")
    with running(root, ["/usr/sbin/smtpd", "-d"], [port]):
        queues = [f"var/spool/smtpd/{name}" for name in ("incoming", "queue")]
        yield _server(root, {"plain": port}, *queues)


@contextmanager
def run_dovecot(folder: Path, relay_port: int) -> Iterator[Server]:
    """Run Dovecot with the ports `lmtp` and `submission`, which relays to `relay_port`.

    The mailbox of the user `full` takes 1 KB.
    """
    root = copy_system(folder, "dovecot-core")
    ports = {name: free_port() for name in ("lmtp", "submission")}
    settings = _DOVECOT.format(uid=_NOBODY, relay=relay_port, **ports)
    (root / "etc/dovecot").mkdir()
    (root / "etc/dovecot/dovecot.conf").write_text(settings)
    ids = f"{_NOBODY}:{_NOBODY}::/var/mail"
    (root / "etc/users").write_text(
        f"ben:{{plain}}secret:{ids}/ben::\n"
        f"full:{{plain}}secret:{ids}/full::userdb_quota_rule=*:storage=1K\n"
    )
    _own(root, _NOBODY, "var/mail")
    with running(root, ["/usr/sbin/dovecot", "-F"], list(ports.values())):
        yield _server(root, ports)


def _server(root: Path, ports: dict[str, int], *queues: str) -> Server:
    return Server(ports, Mailbox(root / "var/mail", [root / queue for queue in queues]))


def _own(root: Path, user: int, *paths: str) -> None:
    for path in paths:
        if not (root / path).exists():
            (root / path).mkdir(parents=True)
        os.chown(root / path, user, user)
