"""Define every SMTP reply of the relay, with its text.

A reply is a code (RFC 5321 4.2), an enhanced status code (RFC 2034, RFC 3463; empty where the
protocol allows none: greeting, HELO, EHLO, 334) and one line of text. Replies 5xx count as errors
of the client; a reply 421 ends the connection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# RFC 5321 4.5.3.1.5 allows a reply line 512 octets; texts of other modules may be longer.
_MAX_TEXT = 450
_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class Reply:
    """One line of reply: `250 2.0.0 OK`."""

    code: int
    enhanced: str
    text: str

    def encode(self) -> bytes:
        """Return the octets of the reply with CRLF; unprintable characters become spaces.

        The code is followed by a space even if there is no text: clients look for ``334 `` (RFC
        4954 4).
        """
        text = _NOT_PRINTABLE.sub(" ", self.text)[:_MAX_TEXT]
        return f"{self.code} {' '.join(filter(None, (self.enhanced, text)))}\r\n".encode()


def greeting(hostname: str) -> Reply:
    """Return the banner of a new connection."""
    return Reply(220, "", f"{hostname} ESMTP ready")


def hello(hostname: str) -> Reply:
    """Return the reply to HELO."""
    return Reply(250, "", hostname)


def extended_hello(hostname: str, capabilities: Sequence[str]) -> bytes:
    """Return the reply to EHLO as octets: a line for the host, then one for each capability."""
    lines = [hostname, *capabilities]
    marked = [f"250-{line}" for line in lines[:-1]] + [f"250 {lines[-1]}"]
    return "".join(f"{line}\r\n" for line in marked).encode()


def challenge(encoded: str) -> Reply:
    """Return the prompt for the next part of a login (RFC 4954 4); `encoded` is base64 or empty."""
    return Reply(334, "", encoded)


def accepted(message_id: str) -> Reply:
    """Return the reply to a message that is stored under `message_id`."""
    return Reply(250, "2.0.0", f"OK {message_id}")


def chunk(size: int) -> Reply:
    """Return the reply to a chunk that is not the last one (RFC 3030 2)."""
    return Reply(250, "2.0.0", f"{size} octets received")


def fault(fault_id: str) -> Reply:
    """Return the reply for a failure of the service; the log has it under `fault_id`."""
    return Reply(451, "4.3.0", f"Temporary failure, try again later (reference {fault_id})")


def internal_fault(fault_id: str) -> Reply:
    """Return the reply for a failure of the session, which ends the connection."""
    return Reply(421, "4.3.0", f"Internal failure, closing (reference {fault_id})")


def line_too_long(limit: int) -> Reply:
    """Return the reply to a message with a line longer than `limit` octets."""
    return Reply(554, "5.6.0", f"A line of the message is longer than {limit} octets")


OK = Reply(250, "2.0.0", "OK")
SENDER_OK = Reply(250, "2.1.0", "Sender OK")
RECIPIENT_OK = Reply(250, "2.1.5", "Recipient OK")
START_TLS = Reply(220, "2.0.0", "Ready to start TLS")
START_INPUT = Reply(354, "3.0.0", "End the message with <CR><LF>.<CR><LF>")
LOGIN_OK = Reply(235, "2.0.0", "Authentication successful")
GOODBYE = Reply(221, "2.3.0", "Closing the connection")
CANNOT_VERIFY = Reply(252, "2.1.5", "Addresses are not verified; send the message to find out")
HELP = Reply(214, "2.0.0", "Commands: EHLO HELO STARTTLS AUTH MAIL RCPT DATA BDAT RSET NOOP QUIT")

BAD_LINE = Reply(500, "5.5.2", "A command ends with CRLF and has no other CR, LF or NUL")
COMMAND_TOO_LONG = Reply(500, "5.5.2", "Command line too long")
NOT_UTF8 = Reply(500, "5.5.2", "A command is ASCII or UTF-8")
UNKNOWN_COMMAND = Reply(500, "5.5.1", "Command not recognized")
NOT_IMPLEMENTED = Reply(502, "5.5.1", "Command not implemented")
NO_ARGUMENT_ALLOWED = Reply(501, "5.5.4", "This command takes no argument")
HOSTNAME_NEEDED = Reply(501, "5.5.4", "Give the name of your host")
MAIL_SYNTAX = Reply(501, "5.5.4", "Syntax: MAIL FROM:<address> [parameters]")
RCPT_SYNTAX = Reply(501, "5.5.4", "Syntax: RCPT TO:<address>")
CHUNK_SYNTAX = Reply(501, "5.5.4", "Syntax: BDAT <size> [LAST]")
BAD_PARAMETER = Reply(501, "5.5.4", "A parameter has no valid value")
UNKNOWN_PARAMETER = Reply(555, "5.5.4", "Parameter not recognized")
BAD_ADDRESS = Reply(553, "5.1.3", "Address not valid")
UTF8_NOT_DECLARED = Reply(553, "5.6.7", "An address outside ASCII needs the SMTPUTF8 parameter")

EHLO_FIRST = Reply(503, "5.5.1", "Send EHLO or HELO first")
MAIL_FIRST = Reply(503, "5.5.1", "Send MAIL first")
RCPT_FIRST = Reply(503, "5.5.1", "No valid recipients")
MAIL_REPEATED = Reply(503, "5.5.1", "A message is under way already")
CHUNKS_BEGUN = Reply(503, "5.5.1", "The message has begun with BDAT: send RSET")
TLS_ACTIVE = Reply(503, "5.5.1", "TLS is active already")
TLS_UNAVAILABLE = Reply(454, "4.7.0", "TLS is not available")

LOGIN_DONE = Reply(503, "5.5.1", "Authenticated already")
LOGIN_NEEDS_TLS = Reply(538, "5.7.11", "Authentication needs TLS: send STARTTLS first")
LOGIN_MECHANISM = Reply(504, "5.5.4", "Mechanisms are LOGIN and PLAIN")
LOGIN_ABORTED = Reply(501, "5.7.0", "Authentication aborted")
LOGIN_NOT_BASE64 = Reply(501, "5.5.2", "Not valid base64")
LOGIN_UNAVAILABLE = Reply(454, "4.7.0", "Temporary authentication failure, try again later")
LOGIN_FAILED = Reply(535, "5.7.8", "Authentication failed")

# RFC 3207 4
TLS_NEEDED = Reply(530, "5.7.0", "Must issue a STARTTLS command first")
LOGIN_NEEDED = Reply(530, "5.7.0", "Authentication required")
RELAYING_DENIED = Reply(550, "5.7.1", "Relaying denied")
TOO_MANY_RECIPIENTS = Reply(452, "4.5.3", "Too many recipients")
NO_ROOM = Reply(452, "4.3.1", "Too much mail arrives at once, try again later")
TOO_MANY_RECIPIENTS_LATELY = Reply(
    451, "4.7.1", "Too many recipients from your network, try again later"
)
DOMAIN_BUSY = Reply(451, "4.7.1", "Too many messages for this domain, try again later")
MESSAGE_TOO_BIG = Reply(552, "5.3.4", "Message too big")
LOOP = Reply(554, "5.4.6", "The message was here before, or has too many Received fields")
BARE_LINE_END = Reply(554, "5.6.0", "A line ends with CRLF: the message has a bare CR or LF")
NUL_IN_MESSAGE = Reply(554, "5.6.0", "The message has a NUL octet")

IDLE = Reply(421, "4.4.2", "Idle for too long, closing")
DATA_TOO_SLOW = Reply(421, "4.4.2", "The message took too long, closing")
TOO_MANY_CONNECTIONS = Reply(421, "4.7.0", "Too many connections, try again later")
NOT_SERVED = Reply(554, "5.7.1", "This port is not for clients at your address (LOCAL_PEERS)")
TOO_MANY_MESSAGES = Reply(421, "4.7.0", "Message limit of a connection reached, connect again")
TOO_MANY_FROM_NETWORK = Reply(421, "4.7.0", "Too many messages from your network, try again later")
CHUNK_NOT_READ = Reply(421, "4.3.2", "Nothing can be read after this chunk, closing")
TOO_MANY_ERRORS = Reply(421, "4.7.0", "Too many errors, closing")
TOO_MANY_FAILED_LOGINS = Reply(421, "4.7.0", "Too many failed logins, closing")
ENDLESS_LINE = Reply(421, "4.7.0", "A command line without end, closing")
HTTP_REQUEST = Reply(421, "4.7.0", "This is an SMTP server, not HTTP, closing")
SHUTTING_DOWN = Reply(421, "4.3.2", "Service shutting down, connect again")
