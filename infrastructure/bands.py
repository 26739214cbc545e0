"""State the bands in which packages are arranged: a module imports from its own or a lower band.

The guards of the tests enforce them, and ARCHITECTURE.md shows them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Band:
    """One band: what it holds, its packages and modules of ``chalicelib``, and other folders."""

    content: str
    packages: tuple[str, ...]
    folders: tuple[str, ...] = ()


BANDS = (
    Band(
        "tools that know no feature: settings, errors, HTTP, tables, queues, signing, mail syntax",
        ("core", "dkim", "mail_format", "spf"),
    ),
    Band(
        "resources",
        (
            "ab_tests",
            "accounts",
            "api_keys",
            "audit_log",
            "authentication",
            "compliance",
            "domain_claims",
            "domain_reports",
            "events",
            "fleet",
            "inbound_domains",
            "ip_pools",
            "mail_verdicts",
            "metrics",
            "received_mail",
            "recipient_lists",
            "relay_webhooks",
            "seeding",
            "sender_requirements",
            "sending_domains",
            "single_sign_on",
            "snippets",
            "subaccounts",
            "suppression",
            "template_language",
            "templates",
            "tracking_domains",
            "users",
            "webhooks",
        ),
    ),
    Band(
        "the path of a message, and what uses many packages",
        (
            "css_inlining",
            "data_privacy",
            "delivery",
            "event_export",
            "generation",
            "inbound",
            "ingest",
            "recipient_validation",
            "recording",
            "relaying",
            "resource_counts",
            "seed_sending",
            "tracking",
            "transmissions",
            "webhook_dispatch",
        ),
    ),
    Band(
        "edges",
        ("console", "generation_queue", "openapi"),
        ("app.py", "relay/", "outbound/", "infrastructure/"),
    ),
)

#: package of ``chalicelib`` → the number of its band
BAND_OF = {package: number for number, band in enumerate(BANDS) for package in band.packages}


def table_of_bands() -> str:
    """Return the bands as a table in Markdown."""
    head = ["| Band | Content | Packages of `chalicelib/`, and other folders |", "|---|---|---|"]
    rows = [
        f"| {number} | {band.content} | "
        + ", ".join(f"`{name}`" for name in (*band.packages, *band.folders))
        + " |"
        for number, band in enumerate(BANDS)
    ]
    return "\n".join([*head, *rows])
