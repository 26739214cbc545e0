"""Say what the text of a setting may be, once for errors, documentation and deployments.

A pattern is understood by Python and by Java, because CloudFormation checks it as the parameter's
AllowedPattern. What no pattern can tell, such as whether an address is one, is a further test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address

from chalicelib.core.host_and_port import read_host_and_port


def _anything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a setting may be: the pattern of its whole text, and words that follow *must be*."""

    pattern: str
    words: str
    test: Callable[[str], bool] = _anything

    def admits(self, text: str) -> bool:
        """Tell whether a setting may have this text."""
        return re.fullmatch(self.pattern, text) is not None and self.test(text)

    def or_empty(self) -> Allowed:
        """Return the same for a setting that may also be empty."""

        def test(text: str) -> bool:
            return not text or self.test(text)

        return replace(
            self, pattern=f"({self.pattern})?", words=f"{self.words}, or empty", test=test
        )


def choices(*values: str) -> Allowed:
    """Allow these values only, at least two."""
    *others, last = values
    return Allowed("|".join(values), f"{', '.join(others)} or {last}")


def comma_separated(pattern: str, words: str, test: Callable[[str], bool] = _anything) -> Allowed:
    """Allow one or more items with this pattern, separated by commas."""

    def all_pass(text: str) -> bool:
        return all(test(item.strip()) for item in text.split(","))

    return Allowed(f" *({pattern})( *, *({pattern}))* *", f"{words}, comma-separated", all_pass)


def _is_ip_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _has_valid_address(text: str) -> bool:
    """Tell whether the host of an address with an optional port is a name or a valid IP address."""
    host, _ = read_host_and_port(text, default_port=0)
    return _is_ip_address(host) or not re.fullmatch(r"[0-9.]+|.*:.*", host)


def _has_ip_address(text: str) -> bool:
    return _is_ip_address(read_host_and_port(text, default_port=0)[0])


_PORT = "(0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = rf"(?=[^,:/ ]{{1,253}}([,:/ ]|$))({_LABEL}\.)*{_LABEL}"
# Names of containers may have underscores
_HOST = r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?"
_IPV4 = r"[0-9]{1,3}(\.[0-9]{1,3}){3}"
_IPV6 = r"[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*"

_MANTISSA, _ABOVE_0 = r"([0-9]+\.?[0-9]*|\.[0-9]+)", "(?=[0.]*[1-9])"
_EXPONENT = "([eE][-+]?[0-9]+)?"

#: Whole numbers, and numbers with a fraction
COUNT = Allowed("[0-9]+", "a whole number, 0 or more")
COUNT_FROM_1 = Allowed("0*[1-9][0-9]*", "a whole number, 1 or more")
RECEIVED_MAIL_SECONDS = Allowed(
    "0*([1-9][0-9]{0,5}|1[01][0-9]{5}|120[0-8][0-9]{3}|1209[0-5][0-9]{2}|1209600)",
    "a whole number, 1 to 1209600",
)
NUMBER = Allowed(_MANTISSA + _EXPONENT, "a number, 0 or more")
ANY_NUMBER = Allowed(f"-?{_MANTISSA}{_EXPONENT}", "a number")
NUMBER_ABOVE_0 = Allowed(_ABOVE_0 + _MANTISSA + _EXPONENT, "a number above 0")
FACTOR = Allowed(r"0*[1-9][0-9]*(\.[0-9]*)?", "a number, 1 or more")
BOOLEAN = Allowed("(?i:true|1|yes|false|0|no)?", "true or false")

PORT = Allowed(_PORT, "a port number (1 to 65535)")
PORT_OR_0 = Allowed(f"0|{_PORT}", "a port number (1 to 65535) or 0")
PORTS = comma_separated(_PORT, "port numbers (1 to 65535)")

TEXT = Allowed(r"[^\x00-\x1f\x7f]+", "a text of one line that is not empty")
WORD = Allowed(r"[^\s\x00-\x1f\x7f]+", "a text without spaces that is not empty")
STAGE = Allowed("[a-z0-9][a-z0-9-]{0,30}", "1 to 31 of a-z, 0-9 and -, the first not -")
BUCKET = Allowed("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "the name of a bucket (3 to 63 characters)")
DOMAIN = Allowed(_DOMAIN, "a host name in ASCII, such as mail.example.com")
DOMAINS = comma_separated(_DOMAIN, "host names in ASCII")
HOST_OR_ADDRESS = Allowed(f"{_HOST}|{_IPV6}", "a host name or an IP address", _has_valid_address)
HOSTS = comma_separated(f"({_HOST})(:{_PORT})?", "host names")
SMARTHOST = Allowed(
    rf"({_HOST}|\[{_IPV6}\])(:{_PORT})?|{_IPV6}",
    "host or host:port, with an IPv6 address in brackets",
    _has_valid_address,
)
SPAM_CHECKER = Allowed(
    rf"(spamd|rspamd)://({_HOST}|\[{_IPV6}\])(:{_PORT})?", "spamd://host:783 or rspamd://host:11333"
)
VIRUS_CHECKER = Allowed(rf"clamd://({_HOST}|\[{_IPV6}\])(:{_PORT})?", "clamd://host:3310")
RESOLVERS = comma_separated(
    rf"({_IPV4}|\[{_IPV6}\])(:{_PORT})?|{_IPV6}",
    "IP addresses, each as address or address:port (IPv6 with a port in brackets)",
    _has_ip_address,
)
MAIL_ADDRESSES = comma_separated(r"[^@\s,]+@[^@\s,]+", "mail addresses")
BASE_URL = Allowed(
    rf"(?!.*/api/v1$)https?://(({_HOST})|\[{_IPV6}\])(:{_PORT})?(/[^\s?#]*[^\s?#/])?",
    "an http or https URL without a login, and without / or /api/v1 at its end",
)
# A deployment draws 43 characters at random: the last one has bits that do not count
KEY_OF_32_BYTES = Allowed("[A-Za-z0-9+/]{43}=", "the base64 form of 32 bytes")
# Names with parts in braces that stand for others
_FILLED = r"([A-Za-z0-9.-]|\{account\}|\{system\})+"
TENANT_DOMAIN = Allowed(
    rf"(?=.*\{{account\}}){_FILLED}", "a host name with {account}, and with {system} if wanted"
)
TRACKING_TARGET = Allowed(r"([A-Za-z0-9.-]|\{system\})+", "a host name, with {system} if wanted")
# An EventBridge bus, an SNS topic, an SQS queue, a Kinesis stream or a Firehose stream
_TARGET = r"arn:[a-z-]+:(events|sns|sqs|kinesis|firehose):[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9/_.-]+"
EVENT_TARGETS = Allowed(
    f"{_TARGET}(,{_TARGET})*",
    "ARNs of EventBridge buses, SNS topics, SQS queues, Kinesis streams or Firehose streams, "
    "comma-separated without spaces",
)
JSON_LIST = Allowed(r"\s*\[[\s\S]*\]\s*", "a list in JSON")
EVENT_TYPES = Allowed("[a-z_]+(,[a-z_]+)*", "types of events, comma-separated without spaces")
