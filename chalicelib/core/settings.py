"""Read every setting of the service from the environment.

A setting is a field of :class:`Settings`. Its environment variable is the field's name in upper
case, its type is the field's type (``int``, ``float``, ``bool`` or ``str``), and its metadata says
what it means and what it may be. ``local`` is the value that the one-command local runtime exports
when it differs from the default, so that no code asks where it runs.

``python -m chalicelib.core.settings`` prints the table of the documentation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from math import isfinite
from typing import Any, TypeVar

from chalicelib.core import caches, setting_conflicts
from chalicelib.core import setting_values as values
from chalicelib.core.setting_values import Allowed, choices

MIB = 1024 * 1024

#: Exit status of a program whose settings are wrong
_WRONG_SETTINGS = 2

Kind = TypeVar("Kind")


def setting(
    default: Any,
    doc: str,
    allowed: Allowed = values.BOOLEAN,
    *,
    local: Any = None,
    secret: bool = False,
) -> Any:
    """Declare a setting; ``allowed`` says what its text may be."""
    metadata = {"doc": doc, "allowed": allowed, "local": local}
    return field(default=default, repr=not secret, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings, typed. Sizes are bytes and times are seconds unless the text says otherwise."""

    # Where the service runs
    stage: str = setting(
        "dev",
        "Name of the deployment. The names of its tables and queues begin with it",
        values.STAGE,
        local="local",
    )
    log_level: str = setting(
        "INFO",
        "Lowest level that is logged",
        choices("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    )
    log_format: str = setting(
        "text",
        "`json`: one JSON object a line, as the deployed functions log. `text`: each "
        "process logs in its own way",
        choices("json", "text"),
    )
    cloudwatch_metrics: bool = setting(
        True,
        "Whether JSON lines carry the metrics that CloudWatch reads. Without them there is no line"
        " for each request and batch",
    )
    tracing: str = setting(
        "PassThrough",
        "`Active`: AWS X-Ray traces the deployed functions and their requests to AWS, which "
        "then take about twice their processor time",
        choices("Active", "PassThrough"),
    )
    bucket: str = setting(
        "",
        "Name of the bucket for large bodies. Empty: `postfinch-<stage>`",
        values.BUCKET.or_empty(),
    )
    public_url: str = setting(
        "http://localhost:8080",
        "Base of the URLs in messages and links, without `/api/v1`",
        values.BASE_URL,
    )
    mail_hostname: str = setting(
        "localhost", "Host name in EHLO, in Message-ID and in the relay's banner", values.DOMAIN
    )
    system_domain: str = setting(
        "postfinch.test",
        "The service's own mail domain: CNAME records of bounce domains point to it, and it"
        " is the bounce domain of senders that have no other",
        values.DOMAIN,
    )

    # DNS, and hosts that callers name
    dns_servers: str = setting(
        "",
        "DNS resolvers for the checks of domains, each as `address` or `address:port`, "
        "comma-separated. Empty: those of the host",
        values.RESOLVERS.or_empty(),
    )
    dns_timeout: float = setting(2.0, "Time to wait for one DNS resolver", values.NUMBER_ABOVE_0)
    dns_lifetime: float = setting(
        6.0, "Time to wait for a DNS answer in all, over all resolvers", values.NUMBER_ABOVE_0
    )
    allow_private_addresses: bool = setting(
        False,
        "Whether a host that a caller names may have a private address. Names that only "
        "this machine knows are then resolved too",
        local=True,
    )

    # Sending domains
    restricted_domains: str = setting(
        "aol.com,att.net,comcast.net,daum.net,gmail.com,gmx.com,gmx.de,gmx.net,google.com,"
        "googlemail.com,hanmail.net,hotmail.com,icloud.com,libero.it,live.com,mac.com,mail.com,"
        "mail.ru,me.com,msn.com,naver.com,orange.fr,outlook.com,proton.me,protonmail.com,qq.com,"
        "rocketmail.com,t-online.de,verizon.net,wanadoo.fr,web.de,yahoo.co.jp,yahoo.co.uk,"
        "yahoo.com,yandex.com,yandex.ru,ymail.com,163.com",
        "Domains that nobody may register for sending, with all domains below them, "
        "comma-separated: they hold other people's mailboxes",
        values.DOMAINS.or_empty(),
    )
    tenant_domain: str = setting(
        "{account}.mail.{system}",
        "Mail domain of an enterprise account, in place of `SYSTEM_DOMAIN`. `{account}` is "
        "the account's id, `{system}` is `SYSTEM_DOMAIN`",
        values.TENANT_DOMAIN,
    )
    domain_recheck: float = setting(
        86_400.0,
        "Time between two checks of a verified domain's DNS records",
        values.NUMBER_ABOVE_0,
    )
    domain_recheck_soon: float = setting(
        3600.0,
        "The same after a check that got no answer, and for a domain that lost its verification",
        values.NUMBER_ABOVE_0,
    )
    domain_grace: float = setting(
        1_209_600.0,
        "A domain that has not been verified for this long is dropped from its account (14 days)",
        values.NUMBER_ABOVE_0,
    )
    mailbox_token_lifetime: float = setting(
        259_200.0,
        "How long the link in a verification mail works (72 hours)",
        values.NUMBER_ABOVE_0,
    )

    # Tracking domains
    tracking_target: str = setting(
        "track.{system}",
        "CNAME target of tracking domains. `{system}` is `SYSTEM_DOMAIN`",
        values.TRACKING_TARGET,
    )
    tracking_fetch: str = setting(
        "all",
        "Which tracking domains are verified by fetching a page through them, besides their"
        " CNAME record: `all`, `plain` (those without TLS) or `none`",
        choices("all", "plain", "none"),
        local="plain",
    )
    tracking_port: int = setting(
        80,
        "Port at which tracking domains without TLS reach this service. Links name it "
        "unless it is 80",
        values.PORT,
    )

    # Engagement
    tracking_hosts: str = setting(
        "",
        "Further names at which the links of all accounts work, comma-separated, such as a former "
        "host of `PUBLIC_URL`",
        values.HOSTS.or_empty(),
    )
    tracking_patience: float = setting(
        2.0,
        "How long the answer to a click or an open may wait until the event is queued",
        values.NUMBER,
    )
    tracking_visits_per_minute: int = setting(
        600,
        "How often one process answers for the same link of the same message in a minute. "
        "More visits get 403. 0: no limit",
        values.COUNT,
    )
    providers_by_mx: bool = setting(
        False,
        "Whether MX records tell which mailbox provider hosts a recipient's own domain. "
        "They are looked up in the background and remembered",
    )
    geoip_database: str = setting(
        "",
        "File of a city database in MaxMind's format (needs the package `maxminddb`). It "
        "tells where messages are opened. Empty: events name no place",
        values.TEXT.or_empty(),
    )

    # Secrets
    secret_key: str = setting(
        "",
        "Base64 of 32 bytes. It signs cursors, links and return paths, and encrypts DKIM "
        "keys and webhook credentials at rest",
        values.KEY_OF_32_BYTES.or_empty(),
        secret=True,
    )
    kms_key_id: str = setting(
        "",
        "KMS key that encrypts DKIM keys and webhook credentials at rest, instead of "
        "`SECRET_KEY`. Empty: not used",
        values.WORD.or_empty(),
    )

    # HTTP
    max_body_bytes: int = setting(
        6 * MIB,
        "Largest HTTP request body. Lambda itself takes no more than 6 MiB",
        values.COUNT_FROM_1,
        local=50 * MIB,
    )
    key_cache_seconds: float = setting(
        5.0,
        "How long a process trusts the API keys, accounts, subaccounts and usable sending domains"
        " that it has read. A revoked key works at most this long, and so does a sending domain"
        " that was blocked or deleted",
        values.NUMBER,
        local=1.0,
    )
    session_idle: int = setting(
        12 * 3600,
        "How long a session of a signed-in user lasts without a request",
        values.COUNT_FROM_1,
    )
    session_lifetime: int = setting(
        7 * 86_400, "How long a session lasts at most (7 days)", values.COUNT_FROM_1
    )
    oidc_providers: str = setting(
        "",
        "OpenID Connect providers that users may sign in with: a list in JSON (single-sign-on.md)."
        " Empty: none",
        values.JSON_LIST.or_empty(),
        secret=True,
    )
    invitation_lifetime: int = setting(
        72 * 3600, "How long the link of an invitation works (72 hours)", values.COUNT_FROM_1
    )
    reset_lifetime: int = setting(
        3600, "How long a mailed link to reset a password works", values.COUNT_FROM_1
    )
    audit_retention: int = setting(
        400 * 86_400, "How long the lines of the audit log are kept (400 days)", values.COUNT_FROM_1
    )
    audit_sends: str = setting(
        "bulk",
        "Which accepted sends get a line in the audit log. `bulk`: those of signed-in users, and "
        "those by API key to several recipients, to a stored list, for an A/B test or for a later "
        "time. `all`: also each single send by API key, which then costs twice the write units, "
        "and each batch of ingested events by API key, for a write more",
        choices("bulk", "all"),
    )
    console: bool = setting(True, "Whether the console is served at `/console/`")
    rate_limit_per_second: float = setting(
        100.0,
        "Requests that an account may make per second to one process. Sending is not "
        "limited by it. 0: no limit",
        values.NUMBER,
        local=5000.0,
    )
    rate_limit_burst: int = setting(
        500, "Requests that an account may make at once", values.COUNT_FROM_1, local=10_000
    )

    # SMTP relay
    relay_host: str = setting(
        "0.0.0.0", "Address that the relay listens on", values.HOST_OR_ADDRESS, local="127.0.0.1"
    )
    relay_ports: str = setting(
        "587,2525",
        "Ports on which the relay takes mail from senders, comma-separated. Empty: none",
        values.PORTS.or_empty(),
    )
    relay_tls_ports: str = setting(
        "",
        "Ports on which senders speak TLS from the first byte on (465), comma-separated. "
        "Empty: none",
        values.PORTS.or_empty(),
    )
    relay_inbound_ports: str = setting(
        "25",
        "Ports on which the relay takes bounces, complaints and unsubscribe mails, and mail for "
        "inbound domains, comma-separated. Empty: none",
        values.PORTS.or_empty(),
    )
    relay_inbound_bytes: int = setting(
        20 * MIB, "Largest message that an inbound domain receives", values.COUNT_FROM_1
    )
    relay_inbound_messages: int = setting(
        18_000,
        "Messages that the inbound ports of a host take in a minute from one address (one network "
        "of 64 bits of IPv6). 0: no limit",
        values.COUNT,
    )
    relay_inbound_recipients: int = setting(
        36_000,
        "Recipients that one address may name in a minute at the inbound ports of a host. "
        "0: no limit",
        values.COUNT,
    )
    relay_inbound_domain_recipients: int = setting(
        60_000,
        "Recipients that one inbound domain may have in a minute at the inbound ports of a host. "
        "0: no limit",
        values.COUNT,
    )
    relay_certificate: str = setting(
        "",
        "PEM file with the relay's certificate. Empty: the relay makes one at its first start",
        values.TEXT.or_empty(),
    )
    relay_key: str = setting(
        "", "PEM file with the key of `RELAY_CERTIFICATE`", values.TEXT.or_empty()
    )
    relay_tls_directory: str = setting(
        "tls", "Directory for a certificate that the relay made itself", values.TEXT
    )
    relay_processes: int = setting(
        0,
        "Processes that share the relay's ports. 0: one for each processor core",
        values.COUNT,
        local=1,
    )
    relay_metrics_port: int = setting(
        0,
        "Port at which Prometheus reads the relay's figures (`GET /metrics`, without a login). Let"
        " only Prometheus reach it. 0: none",
        values.PORT_OR_0,
    )
    relay_metrics_host: str = setting(
        "",
        "Address of `RELAY_METRICS_PORT`. Empty: that of `RELAY_HOST`",
        values.HOST_OR_ADDRESS.or_empty(),
    )
    relay_drain: float = setting(
        30.0,
        "How long a relay that stops waits for messages that clients are sending",
        values.NUMBER,
        local=2.0,
    )

    # Verdicts on received mail
    spam_check: str = setting(
        "",
        "Who judges whether a received message is spam: `spamd://host:783` (SpamAssassin) or"
        " `rspamd://host:11333` (Rspamd). Without a port it is that one. Empty: nobody",
        values.SPAM_CHECKER.or_empty(),
    )
    virus_check: str = setting(
        "",
        "Who searches received messages for viruses: `clamd://host:3310` (ClamAV). Empty: nobody",
        values.VIRUS_CHECKER.or_empty(),
    )
    scan_timeout: float = setting(
        20.0,
        "Time for the answer of `SPAM_CHECK` and of `VIRUS_CHECK`, which are asked side by side."
        " After it the message goes on, and its verdict says so",
        values.NUMBER_ABOVE_0,
    )
    verdict_timeout: float = setting(
        10.0,
        "Time for all look-ups in the DNS about one received message (SPF, DKIM, DMARC and ARC)."
        " What is open after it is a temporary error",
        values.NUMBER_ABOVE_0,
    )

    # Accepting and generating
    chunk_recipients: int = setting(
        100,
        "Most recipients in one chunk, the part of a transmission that is generated and "
        "delivered together",
        values.COUNT_FROM_1,
    )
    chunk_bytes: int = setting(
        4 * MIB,
        "Most bytes of finished messages in one chunk. A larger message has a chunk of its own",
        values.COUNT_FROM_1,
    )
    max_message_bytes: int = setting(20 * MIB, "Largest finished message", values.COUNT_FROM_1)
    redelivery_base: float = setting(
        30.0,
        "Delay before a queue message is handled again after a failure",
        values.NUMBER,
        local=1.0,
    )
    redelivery_factor: float = setting(
        4.0, "Growth of that delay from one failure to the next", values.FACTOR, local=2.0
    )
    queue_inline_bytes: int = setting(
        180_000,
        "The payload of a queue message is stored in the bucket when it is larger than this",
        values.COUNT,
    )
    item_inline_bytes: int = setting(
        8_000,
        "Content is stored in the bucket, and not in its table item, when it is larger than this",
        values.COUNT,
    )
    accept_window: float = setting(
        120.0,
        "A bulk request that is not completely stored after this time is dropped",
        values.NUMBER_ABOVE_0,
    )

    sandbox_template: str = setting(
        "my-first-email",
        "Id of the sample template, the only one that sandbox sends may use",
        values.WORD,
    )
    cancel_margin: float = setting(
        660.0,
        "A scheduled transmission can be cancelled until this long before its start",
        values.NUMBER,
        local=2.0,
    )

    # Delivery
    delivery: str = setting(
        "function",
        "Who delivers mail: `function` (Lambda, whose network has no port 25) or `container` (the"
        " delivery container, on a host that may send to port 25)",
        choices("function", "container"),
    )
    delivery_container: str = setting(
        "",
        "Name of this delivery container: it sends from the sending IPs that were added with this"
        " name. Empty: it sends what names no container",
        Allowed(
            "(?!.*-(small|held)$)[a-z0-9-]{0,30}",
            "at most 30 of a-z, 0-9 and -, without -small or -held at its end",
        ),
    )
    delivery_processes: int = setting(
        0, "Processes of a delivery container. 0: one for each processor core", values.COUNT
    )
    delivery_units: int = setting(
        8,
        "Work units of bulk mail that a process of a delivery container has in hand at a time, and"
        " as many of small sends and of mail that a provider's limits hold back",
        values.COUNT_FROM_1,
    )
    transport: str = setting(
        "smtp",
        "How mail leaves: `smtp` (through a smarthost), `mx` (to the recipients' mail "
        "hosts) or `ses`",
        choices("smtp", "mx", "ses"),
    )
    mx_port: int = setting(
        25,
        "Port of the recipients' mail hosts, for the `mx` transport. Another one serves tests",
        values.PORT,
    )
    mta_sts: bool = setting(
        True,
        "Obey the MTA-STS policies of recipients' domains (RFC 8461), with the `mx` transport: mail"
        " waits rather than go to a host without TLS and a valid certificate",
    )
    dane: bool = setting(
        False,
        "Authenticate mail hosts by the TLSA records of signed zones (DANE, RFC 7672), with the"
        " `mx` transport. Only with resolvers that validate DNSSEC and that nobody can come"
        " between, such as one on the same machine (`DNS_SERVERS`)",
    )
    tls_reports: bool = setting(
        True,
        "Send each domain that asks for it a daily report on how mail reached its hosts by TLS"
        " (TLS-RPT, RFC 8460), with the `mx` transport",
    )
    deliver: bool = setting(
        True,
        "Whether mail may leave this machine. If not, transports connect to addresses of the "
        "machine itself only, and what would go elsewhere bounces",
        local=False,
    )
    smarthost: str = setting(
        "localhost:25", "Host and port of the smarthost, for the `smtp` transport", values.SMARTHOST
    )
    smarthost_username: str = setting(
        "", "User name for the smarthost. Empty: no login", values.TEXT.or_empty()
    )
    smarthost_password: str = setting(
        "", "Password for the smarthost", values.TEXT.or_empty(), secret=True
    )
    smarthost_tls: str = setting(
        "required",
        "STARTTLS to the smarthost: `required`, `opportunistic` or `off`",
        choices("required", "opportunistic", "off"),
        local="off",
    )
    ses_region: str = setting(
        "",
        "Region of Amazon SES. Empty: that of the service itself, as for what follows",
        values.WORD.or_empty(),
    )
    ses_access_key_id: str = setting(
        "", "Access key for Amazon SES, where it is not the service's", values.WORD.or_empty()
    )
    ses_secret_access_key: str = setting(
        "", "Secret of `SES_ACCESS_KEY_ID`", values.WORD.or_empty(), secret=True
    )
    ses_session_token: str = setting(
        "", "Session token of `SES_ACCESS_KEY_ID`", values.WORD.or_empty(), secret=True
    )
    ses_endpoint: str = setting(
        "", "Address of Amazon SES, if it is another than AWS's", values.WORD.or_empty()
    )
    ses_configuration_set: str = setting(
        "",
        "Configuration set of Amazon SES whose notifications reach the queue `ses-notifications`."
        " A deployment with `TRANSPORT=ses` makes one and sets this. Empty: bounces return by mail,"
        " and a message counts as delivered when SES has taken it",
        values.WORD.or_empty(),
    )
    feedback_sender_id: str = setting(
        "postfinch",
        "Last field of the header Feedback-ID of bulk mail, by which Gmail names this service in "
        "its reports: 5 to 15 letters and digits, the same for all time. Empty: no such header",
        Allowed("([A-Za-z0-9]{5,15})?", "5 to 15 letters and digits, or empty"),
    )
    delivery_connections: int = setting(
        16, "Connections that one delivery worker uses at a time", values.COUNT_FROM_1
    )
    delivery_domain_connections: int = setting(
        8,
        "The same for the mail to one domain, so that a slow host cannot hold up the rest",
        values.COUNT_FROM_1,
    )
    delivery_commit_width: int = setting(
        1,
        "Messages that one delivery worker may have between their final dot and their record. If it"
        " dies, so many may be sent twice; at a host that answers slowly, so many times as many"
        " leave in a second",
        values.COUNT_FROM_1,
    )
    delivery_journal: str = setting(
        "",
        "Directory for the record of each sent message; all delivery workers must share it."
        " Empty: the record is written to the messages table, one request for each message",
        values.TEXT.or_empty(),
    )
    delivery_lease: float = setting(
        900.0,
        "How long a delivery worker owns its work unit (the messages of a chunk). Another "
        "worker may take over after it",
        values.NUMBER_ABOVE_0,
        local=24.0,
    )
    smtp_connect_timeout: float = setting(
        20.0, "Time for a mail host to accept a connection", values.NUMBER_ABOVE_0, local=3.0
    )
    smtp_command_timeout: float = setting(
        60.0, "Time for a mail host to answer a command", values.NUMBER_ABOVE_0, local=3.0
    )
    smtp_final_timeout: float = setting(
        240.0,
        "Time for a mail host to receive a message, and again to accept it",
        values.NUMBER_ABOVE_0,
        local=8.0,
    )
    retry_base: float = setting(
        1200.0, "Delay before the first retry of a deferred message", values.NUMBER, local=1.0
    )
    retry_factor: float = setting(
        2.0, "Growth of the delay from one retry to the next", values.FACTOR
    )
    retry_cap: float = setting(43_200.0, "Longest delay between two retries", values.NUMBER_ABOVE_0)
    retry_expiry: float = setting(
        259_200.0, "Age at which a deferred message bounces (72 hours)", values.NUMBER_ABOVE_0
    )

    # Seeding
    seed_addresses: str = setting(
        "",
        "Seed addresses, comma-separated: copies of seeded campaigns go to them. Those set "
        "with `postfinch admin set-seeds` win",
        values.MAIL_ADDRESSES.or_empty(),
        local="seed-1@seeds.test,seed-2@seeds.test,seed-3@seeds.test,seed-4@seeds.test",
    )

    # Events
    events_retention: int = setting(
        864_000, "How long events are kept (10 days)", values.COUNT_FROM_1
    )
    deliveries_retention: int = setting(
        7_776_000,
        "How long recipient validation knows that mail to somebody was delivered (90 days). It"
        " keeps about half a gigabyte of events for a million messages, which nothing else shows",
        values.COUNT,
    )
    events_shards: int = setting(
        2,
        "Partitions for the events of one account and day, of a transmission and a campaign. Each"
        " takes about 20,000 events a second from a bulk send. Each page of a search reads all of"
        " them, unless it is for recipients",
        values.COUNT,
        local=1,
    )
    events_window: float = setting(
        5.0,
        "How long events wait for others that are recorded together with them, which costs "
        "less. Whole seconds",
        values.NUMBER,
        local=0.0,
    )
    events_lag: float = setting(
        60.0, "An events search without `to` ends this long ago", values.ANY_NUMBER, local=0.0
    )
    event_targets: str = setting(
        "",
        "ARNs of EventBridge buses, SNS topics, SQS queues, Kinesis streams and Firehose streams"
        " that all events are sent on to, comma-separated without spaces. Empty: none",
        values.EVENT_TARGETS.or_empty(),
    )
    event_target_types: str = setting(
        "",
        "Types of the events that are sent on to `EVENT_TARGETS`, such as `bounce,open`. Empty:"
        " all types",
        values.EVENT_TYPES.or_empty(),
    )
    hidden_campaigns: str = setting(
        "svc-performance-test-",
        "Events of campaigns whose ids begin with this text are counted, but the events "
        "search does not show them. Empty: it shows all",
        values.TEXT.or_empty(),
    )
    max_reply_bytes: int = setting(
        5 * MIB,
        "Largest page of events, and most bytes of a reply about refused recipients. Lambda"
        " itself answers with no more than 6 MB",
        values.COUNT_FROM_1,
        local=50 * MIB,
    )
    metrics_retention: int = setting(
        16_070_400, "How long metrics are kept (186 days: at least six months)", values.COUNT_FROM_1
    )
    messages_retention: int = setting(
        5_184_000,
        "How long a message is known, for opens, clicks, bounces and complaints that come "
        "late (60 days)",
        values.COUNT_FROM_1,
    )
    received_mail_retention: int = setting(
        864_000,
        "How long received messages are kept (10 days), and their attachments can be fetched. At"
        " most 1209600 (14 days): the bucket removes large ones a day later",
        values.RECEIVED_MAIL_SECONDS,
    )
    domain_reports_retention: int = setting(
        7_776_000,
        "How long the DMARC and TLS reports of other hosts are kept (90 days)",
        values.COUNT_FROM_1,
    )

    # Webhooks
    vendor_alias: bool = setting(
        False,
        "Whether webhooks use the vendor's spelling of payload keys, headers and links, and"
        " answers without a body are `{}`, as its client libraries expect",
    )
    webhook_any_port: bool = setting(
        False, "Whether webhook targets may have ports other than 80 and 443", local=True
    )
    webhook_start: float = setting(
        60.0,
        "A new webhook gets events that happen this long after its creation, or later",
        values.NUMBER,
        local=0.0,
    )
    webhook_cache_seconds: float = setting(
        5.0,
        "How long a process that records events trusts the webhooks that it has read",
        values.NUMBER,
        local=0.0,
    )
    webhook_window: float = setting(
        40.0,
        "How long events wait for others that go into the same batch. Whole seconds",
        values.NUMBER,
        local=0.5,
    )
    webhook_timeout: float = setting(10.0, "Time for a target to answer", values.NUMBER_ABOVE_0)
    webhook_retry_base: float = setting(
        14.0,
        "Delay before a failed batch is posted again for the first time. Later delays grow",
        values.NUMBER,
        local=1.0,
    )
    webhook_attempts: int = setting(
        12,
        "How often a batch is posted until `WEBHOOK_RETRY_EXPIRY`. With more attempts, "
        "delays grow more slowly",
        values.COUNT_FROM_1,
        local=30,
    )
    webhook_retry_expiry: float = setting(
        28_800.0,
        "Age at which a batch that was not delivered is discarded (8 hours)",
        values.NUMBER_ABOVE_0,
    )
    webhook_pause: float = setting(
        120.0,
        "Longest time without posts to a target that does not answer",
        values.NUMBER,
        local=2.0,
    )
    webhook_batch_retention: int = setting(
        86_400, "How long a batch and its status are kept (24 hours)", values.COUNT_FROM_1
    )
    webhook_note_interval: float = setting(
        60.0,
        "Least time between two updates of a webhook's last success or failure",
        values.NUMBER,
        local=1.0,
    )
    webhook_secret_overlap: float = setting(
        86_400.0,
        "How long a replaced signing secret is used beside the new one (24 hours)",
        values.NUMBER,
    )

    # Relay webhooks
    relay_webhook_retry_base: float = setting(
        300.0,
        "Delay before a received message is posted to its relay webhook again for the first time. "
        "Later delays grow",
        values.NUMBER,
        local=1.0,
    )
    relay_webhook_attempts: int = setting(
        9,
        "How often a received message is posted until `RELAY_WEBHOOK_RETRY_EXPIRY`, the first post "
        "included",
        values.COUNT_FROM_1,
    )
    relay_webhook_retry_expiry: float = setting(
        28_800.0,
        "Age at which posting a received message is given up (8 hours)",
        values.NUMBER_ABOVE_0,
        local=110.0,
    )
    relay_inline_bytes: int = setting(
        10_240,
        "Largest attachment that is posted to relay webhooks as data, besides its URL",
        values.COUNT,
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
    allowed: Allowed = setting.metadata["allowed"]
    try:
        if allowed.admits(text):
            return _READERS[str(setting.type)](text)
    except ValueError:  # a number that is too large
        pass
    name = setting.name.upper()
    value = f"={text!r}" if setting.repr else ""
    raise ValueError(f"{name}{value} is not allowed: it must be {allowed.words}")


def load(environ: Mapping[str, str]) -> Settings:
    """Read the settings from ``environ``.

    Raises ``ValueError`` with one line for the operator if a value is not allowed, or if settings
    contradict each other.
    """
    loaded = read_each(environ)
    setting_conflicts.refuse(loaded)
    return loaded


def read_each(environ: Mapping[str, str]) -> Settings:
    """Read settings of which ``environ`` has some only, so that others may contradict them.

    Raises ``ValueError`` as :func:`load` does if a value is not allowed.
    """
    return load_as(Settings, environ)


def load_as(kind: type[Kind], environ: Mapping[str, str]) -> Kind:
    """Read settings of another dataclass that declares them by :func:`setting`.

    Raises ``ValueError`` with one line for the operator if a value is not allowed.
    """
    read_values = {
        each.name: _read(each, environ[each.name.upper()])
        for each in fields(kind)  # type: ignore[arg-type]
        if each.name.upper() in environ
    }
    return kind(**read_values)


@cache
def settings() -> Settings:
    """Return this process's settings (read once)."""
    return load(os.environ)


caches.register(settings.cache_clear)


def settings_at_start(*files: str) -> Settings:
    """Return the settings of a program that starts; ends it with one line if they are wrong.

    ``files`` are the settings that name files which the program reads.
    """
    try:
        current = settings()
        setting_conflicts.check_files(current, files)
    except ValueError as error:
        print(error, file=sys.stderr)
        raise SystemExit(_WRONG_SETTINGS) from None
    return current


def local_values() -> dict[str, str]:
    """Return the environment in which the local runtime differs from the defaults."""
    return {
        setting.name.upper(): str(setting.metadata["local"])
        for setting in fields(Settings)
        if setting.metadata["local"] is not None
    }


def table() -> str:
    """Return the documentation's table of settings, as Markdown."""
    return table_of(Settings, "Local value")


def table_of(kind: Any, *further: str) -> str:
    """Return the table of the settings that a dataclass declares by :func:`setting`, as Markdown.

    ``further`` may be the heading of a column with the values of the local runtime.
    """
    heads = ["Setting", "Default", *further, "Allowed", "Meaning"]
    rows = [_row(each, *further) for each in fields(kind)]
    return "\n".join([_line(heads), "|---" * len(heads) + "|", *map(_line, rows)])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(each: Field[Any], *further: str) -> list[str]:
    local = each.metadata["local"]
    default = f"`{each.default}`" if each.default != "" else "empty"
    local_cells = [f"`{local}`" if local is not None else ""] if further else []
    allowed, doc = each.metadata["allowed"].words, each.metadata["doc"]
    return [f"`{each.name.upper()}`", default, *local_cells, allowed, doc]


if __name__ == "__main__":
    print(table())
