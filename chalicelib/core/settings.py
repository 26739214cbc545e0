"""Read every setting of the service from the environment.

A setting is a field of :class:`Settings`. Its environment variable is the field's name in upper
case, its type is the field's type (``int``, ``float``, ``bool`` or ``str``), and its metadata says
what it means. ``local`` is the value that the one-command local runtime exports when it differs
from the default, so that no code asks where it runs.

``python -m chalicelib.core.settings`` prints the table of the documentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from math import isfinite
from typing import Any, TypeVar

from chalicelib.core import caches

MIB = 1024 * 1024

Kind = TypeVar("Kind")


# An EventBridge bus, an SNS topic, an SQS queue, a Kinesis stream or a Firehose stream
_TARGET = r"arn:[a-z-]+:(events|sns|sqs|kinesis|firehose):[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9/_.-]+"


#: Patterns of numbers from 0 and from 1 on
_COUNT, _POSITIVE = r"\d+", r"0*[1-9]\d*"


def _setting(
    default: Any, doc: str, *, local: Any = None, secret: bool = False, pattern: str = ""
) -> Any:
    """Declare a setting; its text must match ``pattern``, if there is one."""
    metadata = {"doc": doc, "local": local, "pattern": pattern}
    return field(default=default, repr=not secret, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings, typed. Sizes are bytes and times are seconds unless the text says otherwise."""

    # Where the service runs
    stage: str = _setting(
        "dev",
        "Name of the deployment. The names of its tables and queues begin with it",
        local="local",
    )
    log_level: str = _setting("INFO", "Lowest level that is logged")
    log_format: str = _setting(
        "text",
        "`json`: one JSON object a line, as the deployed functions log. `text`: each "
        "process logs in its own way",
    )
    cloudwatch_metrics: bool = _setting(
        True,
        "Whether JSON lines carry the metrics that CloudWatch reads. Without them there is no line"
        " for each request and batch",
    )
    tracing: str = _setting(
        "PassThrough",
        "`Active`: AWS X-Ray traces the deployed functions and their requests to AWS, which "
        "then take about twice their processor time",
    )
    bucket: str = _setting("", "Name of the bucket for large bodies. Empty: `postfinch-<stage>`")
    public_url: str = _setting(
        "http://localhost:8080", "Base of the URLs in messages and links, without `/api/v1`"
    )
    mail_hostname: str = _setting(
        "localhost", "Host name in EHLO, in Message-ID and in the relay's banner"
    )
    system_domain: str = _setting(
        "postfinch.test",
        "The service's own mail domain: CNAME records of bounce domains point to it, and it"
        " is the bounce domain of senders that have no other",
    )

    # DNS, and hosts that callers name
    dns_servers: str = _setting(
        "",
        "DNS resolvers for the checks of domains, each as `address` or `address:port`, "
        "comma-separated. Empty: those of the host",
    )
    dns_timeout: float = _setting(2.0, "Time to wait for one DNS resolver")
    dns_lifetime: float = _setting(6.0, "Time to wait for a DNS answer in all, over all resolvers")
    allow_private_addresses: bool = _setting(
        False,
        "Whether a host that a caller names may have a private address. Names that only "
        "this machine knows are then resolved too",
        local=True,
    )

    # Sending domains
    restricted_domains: str = _setting(
        "aol.com,att.net,comcast.net,daum.net,gmail.com,gmx.com,gmx.de,gmx.net,google.com,"
        "googlemail.com,hanmail.net,hotmail.com,icloud.com,libero.it,live.com,mac.com,mail.com,"
        "mail.ru,me.com,msn.com,naver.com,orange.fr,outlook.com,proton.me,protonmail.com,qq.com,"
        "rocketmail.com,t-online.de,verizon.net,wanadoo.fr,web.de,yahoo.co.jp,yahoo.co.uk,"
        "yahoo.com,yandex.com,yandex.ru,ymail.com,163.com",
        "Domains that nobody may register for sending, with all domains below them, "
        "comma-separated: they hold other people's mailboxes",
    )
    tenant_domain: str = _setting(
        "{account}.mail.{system}",
        "Mail domain of an enterprise account, in place of `SYSTEM_DOMAIN`. `{account}` is "
        "the account's id, `{system}` is `SYSTEM_DOMAIN`",
    )
    domain_recheck: float = _setting(
        86_400.0, "Time between two checks of a verified domain's DNS records"
    )
    domain_recheck_soon: float = _setting(
        3600.0,
        "The same after a check that got no answer, and for a domain that lost its verification",
    )
    domain_grace: float = _setting(
        1_209_600.0,
        "A domain that has not been verified for this long is dropped from its account (14 days)",
    )
    mailbox_token_lifetime: float = _setting(
        259_200.0, "How long the link in a verification mail works (72 hours)"
    )

    # Tracking domains
    tracking_target: str = _setting(
        "track.{system}",
        "CNAME target of tracking domains. `{system}` is `SYSTEM_DOMAIN`",
    )
    tracking_fetch: str = _setting(
        "all",
        "Which tracking domains are verified by fetching a page through them, besides their"
        " CNAME record: `all`, `plain` (those without TLS) or `none`",
        local="plain",
    )
    tracking_port: int = _setting(
        80,
        "Port at which tracking domains without TLS reach this service. Links name it "
        "unless it is 80",
    )

    # Engagement
    tracking_hosts: str = _setting(
        "",
        "Further names at which the links of all accounts work, comma-separated, such as a former "
        "host of `PUBLIC_URL`",
    )
    tracking_patience: float = _setting(
        2.0, "How long the answer to a click or an open may wait until the event is queued"
    )
    tracking_visits_per_minute: int = _setting(
        600,
        "How often one process answers for the same link of the same message in a minute. "
        "More visits get 403. 0: no limit",
    )
    providers_by_mx: bool = _setting(
        False,
        "Whether MX records tell which mailbox provider hosts a recipient's own domain. "
        "They are looked up in the background and remembered",
    )
    geoip_database: str = _setting(
        "",
        "File of a city database in MaxMind's format (needs the package `maxminddb`). It "
        "tells where messages are opened. Empty: events name no place",
    )

    # Secrets
    secret_key: str = _setting(
        "",
        "Base64 of 32 bytes. It signs cursors, links and return paths, and encrypts DKIM "
        "keys and webhook credentials at rest",
        secret=True,
    )
    kms_key_id: str = _setting(
        "",
        "KMS key that encrypts DKIM keys and webhook credentials at rest, instead of "
        "`SECRET_KEY`. Empty: not used",
    )

    # HTTP
    max_body_bytes: int = _setting(
        6 * MIB,
        "Largest HTTP request body. Lambda itself takes no more than 6 MiB",
        local=50 * MIB,
    )
    key_cache_seconds: float = _setting(
        5.0,
        "How long a process trusts the API keys, accounts, subaccounts and usable sending domains"
        " that it has read. A revoked key works at most this long, and so does a sending domain"
        " that was blocked or deleted",
        local=1.0,
    )
    console: bool = _setting(True, "Whether the console is served at `/console/`")
    rate_limit_per_second: float = _setting(
        100.0,
        "Requests that an account may make per second to one process. Sending is not "
        "limited by it. 0: no limit",
        local=5000.0,
    )
    rate_limit_burst: int = _setting(500, "Requests that an account may make at once", local=10_000)

    # SMTP relay
    relay_host: str = _setting("0.0.0.0", "Address that the relay listens on", local="127.0.0.1")
    relay_ports: str = _setting(
        "587,2525", "Ports on which the relay takes mail from senders, comma-separated"
    )
    relay_tls_ports: str = _setting(
        "",
        "Ports on which senders speak TLS from the first byte on (465), comma-separated. "
        "Empty: none",
    )
    relay_inbound_ports: str = _setting(
        "25",
        "Ports on which the relay takes bounces, complaints and unsubscribe mails, "
        "comma-separated. Empty: none",
    )
    relay_certificate: str = _setting(
        "", "PEM file with the relay's certificate. Empty: the relay makes one at its first start"
    )
    relay_key: str = _setting("", "PEM file with the key of `RELAY_CERTIFICATE`")
    relay_tls_directory: str = _setting(
        "tls", "Directory for a certificate that the relay made itself"
    )
    relay_processes: int = _setting(
        0, "Processes that share the relay's ports. 0: one for each processor core", local=1
    )
    relay_metrics_port: int = _setting(
        0,
        "Port at which Prometheus reads the relay's figures (`GET /metrics`, without a login). Let"
        " only Prometheus reach it. 0: none",
    )
    relay_metrics_host: str = _setting(
        "", "Address of `RELAY_METRICS_PORT`. Empty: that of `RELAY_HOST`"
    )
    relay_drain: float = _setting(
        30.0, "How long a relay that stops waits for messages that clients are sending", local=2.0
    )

    # Accepting and generating
    chunk_recipients: int = _setting(
        100,
        "Most recipients in one chunk, the part of a transmission that is generated and "
        "delivered together",
    )
    chunk_bytes: int = _setting(
        4 * MIB,
        "Most bytes of finished messages in one chunk. A larger message has a chunk of its own",
    )
    max_message_bytes: int = _setting(20 * MIB, "Largest finished message")
    redelivery_base: float = _setting(
        30.0, "Delay before a queue message is handled again after a failure", local=1.0
    )
    redelivery_factor: float = _setting(
        4.0, "Growth of that delay from one failure to the next", local=2.0
    )
    queue_inline_bytes: int = _setting(
        180_000,
        "The payload of a queue message is stored in the bucket when it is larger than this",
    )
    item_inline_bytes: int = _setting(
        8_000,
        "Content is stored in the bucket, and not in its table item, when it is larger than this",
    )
    accept_window: float = _setting(
        120.0, "A bulk request that is not completely stored after this time is dropped"
    )

    sandbox_template: str = _setting(
        "my-first-email", "Id of the sample template, the only one that sandbox sends may use"
    )
    cancel_margin: float = _setting(
        660.0,
        "A scheduled transmission can be cancelled until this long before its start",
        local=2.0,
    )

    # Delivery
    delivery: str = _setting(
        "function",
        "Who delivers mail: `function` (Lambda, whose network has no port 25) or `container` (the"
        " delivery container, on a host that may send to port 25)",
        pattern="function|container",
    )
    delivery_container: str = _setting(
        "",
        "Name of this delivery container: it sends from the sending IPs that were added with this"
        " name. Empty: it sends what names no container",
        pattern="(?!.*-(small|held)$)[a-z0-9-]{0,30}",
    )
    delivery_processes: int = _setting(
        0,
        "Processes of a delivery container. 0: one for each processor core",
        pattern=_COUNT,
    )
    delivery_units: int = _setting(
        8,
        "Work units of bulk mail that a process of a delivery container has in hand at a time, and"
        " as many of small sends and of mail that a provider's limits hold back",
        pattern=_POSITIVE,
    )
    transport: str = _setting(
        "smtp",
        "How mail leaves: `smtp` (through a smarthost), `mx` (to the recipients' mail "
        "hosts) or `ses`",
        pattern="smtp|mx|ses",
    )
    mx_port: int = _setting(
        25,
        "Port of the recipients' mail hosts, for the `mx` transport. Another one serves tests",
        pattern=_POSITIVE,
    )
    mta_sts: bool = _setting(
        True,
        "Obey the MTA-STS policies of recipients' domains (RFC 8461), with the `mx` transport: mail"
        " waits rather than go to a host without TLS and a valid certificate",
    )
    dane: bool = _setting(
        False,
        "Authenticate mail hosts by the TLSA records of signed zones (DANE, RFC 7672), with the"
        " `mx` transport. Only with resolvers that validate DNSSEC and that nobody can come"
        " between, such as one on the same machine (`DNS_SERVERS`)",
    )
    tls_reports: bool = _setting(
        True,
        "Send each domain that asks for it a daily report on how mail reached its hosts by TLS"
        " (TLS-RPT, RFC 8460), with the `mx` transport",
    )
    smarthost: str = _setting(
        "localhost:25", "Host and port of the smarthost, for the `smtp` transport"
    )
    smarthost_username: str = _setting("", "User name for the smarthost. Empty: no login")
    smarthost_password: str = _setting("", "Password for the smarthost", secret=True)
    smarthost_tls: str = _setting(
        "required", "STARTTLS to the smarthost: `required`, `opportunistic` or `off`", local="off"
    )
    ses_region: str = _setting(
        "", "Region of Amazon SES. Empty: that of the service itself, as for what follows"
    )
    ses_access_key_id: str = _setting(
        "", "Access key for Amazon SES, where it is not the service's"
    )
    ses_secret_access_key: str = _setting("", "Secret of `SES_ACCESS_KEY_ID`", secret=True)
    ses_session_token: str = _setting("", "Session token of `SES_ACCESS_KEY_ID`", secret=True)
    ses_endpoint: str = _setting("", "Address of Amazon SES, if it is another than AWS's")
    feedback_sender_id: str = _setting(
        "postfinch",
        "Last field of the header Feedback-ID of bulk mail, by which Gmail names this service in "
        "its reports: 5 to 15 letters and digits, the same for all time. Empty: no such header",
        pattern="([A-Za-z0-9]{5,15})?",
    )
    delivery_connections: int = _setting(
        16, "Connections that one delivery worker uses at a time", pattern=_POSITIVE
    )
    delivery_domain_connections: int = _setting(
        8,
        "The same for the mail to one domain, so that a slow host cannot hold up the rest",
        pattern=_POSITIVE,
    )
    delivery_commit_width: int = _setting(
        1,
        "Messages that one delivery worker may have between their final dot and their record. If it"
        " dies, so many may be sent twice; at a host that answers slowly, so many times as many"
        " leave in a second",
        pattern=_POSITIVE,
    )
    delivery_journal: str = _setting(
        "",
        "Directory for the record of each sent message; all delivery workers must share it."
        " Empty: the record is written to the messages table, one request for each message",
    )
    delivery_lease: float = _setting(
        900.0,
        "How long a delivery worker owns its work unit (the messages of a chunk). Another "
        "worker may take over after it",
        local=24.0,
    )
    smtp_connect_timeout: float = _setting(
        20.0, "Time for a mail host to accept a connection", local=3.0
    )
    smtp_command_timeout: float = _setting(
        60.0, "Time for a mail host to answer a command", local=3.0
    )
    smtp_final_timeout: float = _setting(
        240.0, "Time for a mail host to receive a message, and again to accept it", local=8.0
    )
    retry_base: float = _setting(
        1200.0, "Delay before the first retry of a deferred message", local=1.0
    )
    retry_factor: float = _setting(2.0, "Growth of the delay from one retry to the next")
    retry_cap: float = _setting(43_200.0, "Longest delay between two retries")
    retry_expiry: float = _setting(259_200.0, "Age at which a deferred message bounces (72 hours)")

    # Seeding
    seed_addresses: str = _setting(
        "",
        "Seed addresses, comma-separated: copies of seeded campaigns go to them. Those set "
        "with `postfinch admin set-seeds` win",
        local="seed-1@seeds.test,seed-2@seeds.test,seed-3@seeds.test,seed-4@seeds.test",
    )

    # Events
    events_retention: int = _setting(864_000, "How long events are kept (10 days)")
    events_shards: int = _setting(
        2,
        "Partitions for the events of one account and day, of a transmission and a campaign. Each"
        " takes about 20,000 events a second from a bulk send. Each page of a search reads all of"
        " them, unless it is for recipients",
        local=1,
    )
    events_window: float = _setting(
        5.0,
        "How long events wait for others that are recorded together with them, which costs "
        "less. Whole seconds",
        local=0.0,
    )
    events_lag: float = _setting(
        60.0, "An events search without `to` ends this long ago", local=0.0
    )
    event_targets: str = _setting(
        "",
        "ARNs of EventBridge buses, SNS topics, SQS queues, Kinesis streams and Firehose streams"
        " that all events are sent on to, comma-separated without spaces. Empty: none",
        pattern=f"({_TARGET}(,{_TARGET})*)?",
    )
    event_target_types: str = _setting(
        "",
        "Types of the events that are sent on to `EVENT_TARGETS`, such as `bounce,open`. Empty:"
        " all types",
        pattern="([a-z_]+(,[a-z_]+)*)?",
    )
    hidden_campaigns: str = _setting(
        "svc-performance-test-",
        "Events of campaigns whose ids begin with this text are counted, but the events "
        "search does not show them. Empty: it shows all",
    )
    max_reply_bytes: int = _setting(
        5 * MIB,
        "Largest page of events, and most bytes of a reply about refused recipients. Lambda"
        " itself answers with no more than 6 MB",
        local=50 * MIB,
    )
    metrics_retention: int = _setting(
        16_070_400, "How long metrics are kept (186 days: at least six months)"
    )
    messages_retention: int = _setting(
        5_184_000,
        "How long a message is known, for opens, clicks, bounces and complaints that come "
        "late (60 days)",
    )
    domain_reports_retention: int = _setting(
        7_776_000, "How long the DMARC and TLS reports of other hosts are kept (90 days)"
    )

    # Webhooks
    vendor_alias: bool = _setting(
        False,
        "Whether webhooks use the vendor's spelling of payload keys, headers and links, and"
        " answers without a body are `{}`, as its client libraries expect",
    )
    webhook_any_port: bool = _setting(
        False, "Whether webhook targets may have ports other than 80 and 443", local=True
    )
    webhook_start: float = _setting(
        60.0,
        "A new webhook gets events that happen this long after its creation, or later",
        local=0.0,
    )
    webhook_cache_seconds: float = _setting(
        5.0,
        "How long a process that records events trusts the webhooks that it has read",
        local=0.0,
    )
    webhook_window: float = _setting(
        40.0,
        "How long events wait for others that go into the same batch. Whole seconds",
        local=0.5,
    )
    webhook_timeout: float = _setting(10.0, "Time for a target to answer")
    webhook_retry_base: float = _setting(
        14.0,
        "Delay before a failed batch is posted again for the first time. Later delays grow",
        local=1.0,
    )
    webhook_attempts: int = _setting(
        12,
        "How often a batch is posted until `WEBHOOK_RETRY_EXPIRY`. With more attempts, "
        "delays grow more slowly",
        local=30,
    )
    webhook_retry_expiry: float = _setting(
        28_800.0, "Age at which a batch that was not delivered is discarded (8 hours)"
    )
    webhook_pause: float = _setting(
        120.0, "Longest time without posts to a target that does not answer", local=2.0
    )
    webhook_batch_retention: int = _setting(
        86_400, "How long a batch and its status are kept (24 hours)"
    )
    webhook_note_interval: float = _setting(
        60.0, "Least time between two updates of a webhook's last success or failure", local=1.0
    )
    webhook_secret_overlap: float = _setting(
        86_400.0, "How long a replaced signing secret is used beside the new one (24 hours)"
    )

    def table(self, name: str) -> str:
        """Return the full name of the table ``name``."""
        return f"postfinch-{self.stage}-{name}"

    def queue(self, name: str) -> str:
        """Return the full name of the queue ``name``."""
        return f"postfinch-{self.stage}-{name}"

    @property
    def bucket_name(self) -> str:
        """Return the bucket's name."""
        return self.bucket or f"postfinch-{self.stage}"


_BOOLEANS = {
    "true": True,
    "1": True,
    "yes": True,
    "false": False,
    "0": False,
    "no": False,
    "": False,
}


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


_READERS: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: _BOOLEANS[text.lower()],
    "float": _finite,
    "int": int,
    "str": str,
}


def _read(setting: Field[Any], text: str) -> Any:
    kind = str(setting.type)
    try:
        value = _READERS[kind](text)
    except (ValueError, KeyError):
        raise ValueError(f"{setting.name.upper()}={text!r} is not of type {kind}") from None
    pattern = setting.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, text):
        raise ValueError(f"{setting.name.upper()}={text!r} is not as its documentation says")
    return value


def load(environ: Mapping[str, str]) -> Settings:
    """Read the settings from ``environ``; a value of the wrong type raises ``ValueError``."""
    return load_as(Settings, environ)


def load_as(kind: type[Kind], environ: Mapping[str, str]) -> Kind:
    """Read settings of another dataclass that declares them by :func:`setting`."""
    values = {
        each.name: _read(each, environ[each.name.upper()])
        for each in fields(kind)  # type: ignore[arg-type]
        if each.name.upper() in environ
    }
    return kind(**values)


def setting(
    default: Any,
    doc: str,
    *,
    secret: bool = False,
    pattern: str = "",
    words: str = "",
    choices: Any = (),
    least: Any = None,
) -> Any:
    """TEMPORARY."""
    return _setting(default, doc, secret=secret, pattern=pattern or "|".join(choices))


def table_of(kind: Any) -> str:
    """TEMPORARY."""
    return ""


@cache
def settings() -> Settings:
    """Return this process's settings (read once)."""
    return load(os.environ)


caches.register(settings.cache_clear)


def local_values() -> dict[str, str]:
    """Return the environment in which the local runtime differs from the defaults."""
    return {
        setting.name.upper(): str(setting.metadata["local"])
        for setting in fields(Settings)
        if setting.metadata["local"] is not None
    }


def table() -> str:
    """Return the documentation's table of settings, as Markdown."""
    rows = ["| Setting | Default | Local value | Meaning |", "|---|---|---|---|"]
    for setting in fields(Settings):
        local = setting.metadata["local"]
        default = f"`{setting.default}`" if setting.default != "" else "empty"
        local_value = f"`{local}`" if local is not None else ""
        rows.append(
            f"| `{setting.name.upper()}` | {default} | {local_value} | {setting.metadata['doc']} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
