"""Run a Postfix whose ports differ in what they offer and refuse.

All ports share one queue and one mailbox, so that one set of processes serves all tests.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.free_ports import free_port
from tests.mail_servers.mailbox import Mailbox
from tests.mail_servers.postfix_process import postfix_process

_MAIN = """
mynetworks = 192.0.2.1
myhostname = mx.inbox.test
smtputf8_enable = yes
smtpd_recipient_restrictions =
smtpd_relay_restrictions = reject_unauth_destination
smtpd_peername_lookup = no
virtual_mailbox_domains = inbox.test, regexp:{folder}/etc/domains
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = regexp:{folder}/etc/mailboxes
virtual_transport = virtual
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{uid}
virtual_minimum_uid = 1
smtpd_tls_session_cache_database =
smtpd_tls_chain_files = {folder}/etc/valid.pem
"""
_NO_TLS = {"smtpd_tls_security_level": "none"}
_TLS = {"smtpd_tls_security_level": "may"}


def _without(*keywords: str) -> dict[str, str]:
    return _NO_TLS | {"smtpd_discard_ehlo_keywords": ",".join(keywords)}


def _tls(file: str, **options: str) -> dict[str, str]:
    return _TLS | {"smtpd_tls_chain_files": f"{{folder}}/etc/{file}.pem"} | options


PORTS: Mapping[str, Mapping[str, str]] = {
    "all extensions": _NO_TLS,
    "bare": _without(
        *("pipelining", "8bitmime", "smtputf8", "size", "chunking", "dsn", "enhancedstatuscodes")
    ),
    "no pipelining": _without("pipelining"),
    "no chunking, no dsn": _without("chunking", "dsn"),
    "no smtputf8": _without("smtputf8"),
    "no 8bitmime": _without("8bitmime", "smtputf8"),
    "small": _NO_TLS | {"message_size_limit": "20000"},
    "small, no size": _without("size") | {"message_size_limit": "20000"},
    "greylist": _NO_TLS
    | {"smtpd_recipient_restrictions": "check_policy_service inet:127.0.0.1:{policy}"},
    "postgrey": _NO_TLS
    | {"smtpd_recipient_restrictions": "check_policy_service inet:127.0.0.1:{postgrey}"},
    "message rate": _NO_TLS | {"smtpd_client_message_rate_limit": "2"},
    "connection rate": _NO_TLS | {"smtpd_client_connection_rate_limit": "1"},
    "tarpit": _NO_TLS
    | {
        "smtpd_error_sleep_time": "1s",
        "smtpd_soft_error_limit": "2",
        "smtpd_hard_error_limit": "3",
    },
    "busy": _NO_TLS
    | {
        "smtpd_delay_reject": "no",
        "smtpd_client_restrictions": "check_client_access static:{{421 4.3.2 too busy}}",
    },
    "TLS": _tls("valid"),
    "TLS required": _tls("valid", smtpd_tls_security_level="encrypt"),
    "TLS self-signed": _tls("self-signed"),
    "TLS expired": _tls("expired"),
    "TLS wrong host": _tls("wrong-host"),
    "TLS with authority": _tls("with-authority"),
    "TLS with authority, expired": _tls("with-authority-expired"),
    "TLS 1.3 only": _tls("valid", smtpd_tls_protocols=">=TLSv1.3"),
}


@dataclass(frozen=True, slots=True)
class Postfix:
    """A running Postfix: the port of each entry of `PORTS`, and what it stored."""

    ports: Mapping[str, int]
    mailbox: Mailbox


@contextmanager
def run_postfix(folder: Path, **policy_ports: int) -> Iterator[Postfix]:
    """Run Postfix in a folder that holds the certificates in `etc`.

    `policy_ports` are those of the policy servers that ports name.
    """
    ports = {name: free_port() for name in PORTS}
    uid = pwd.getpwnam("nobody").pw_uid
    (folder / "mail").mkdir()
    os.chown(folder / "mail", uid, -1)
    (folder / "etc" / "mailboxes").write_text("if !/^missing@/\n/^/ all/\nendif\n")
    (folder / "etc" / "domains").write_text(r"/\.(signed|unsigned)\.test$/ accepted" + "\n")
    queues = [folder / "queue" / name for name in ("incoming", "active", "deferred")]
    main = _MAIN.format(folder=folder, uid=uid)
    with postfix_process(folder, main, _services(ports, folder, policy_ports)):
        yield Postfix(ports, Mailbox(folder / "mail", queues))


def _services(ports: Mapping[str, int], folder: Path, policy_ports: Mapping[str, int]) -> str:
    lines = []
    for name, port in ports.items():
        lines.append(f"127.0.0.1:{port} inet n - n - - smtpd")
        for option, value in PORTS[name].items():
            text = value.format(folder=folder, **policy_ports)
            lines.append(f"  -o {{ {option} = {text} }}")
    return "\n".join(lines)
