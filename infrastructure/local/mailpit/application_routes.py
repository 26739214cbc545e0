"""Tell what this service is, in the way of Mailpit, and whether it works."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

from infrastructure.local.mailpit import VERSION
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.router import (
    API,
    MailpitReply,
    MailpitRequest,
    MailpitRoute,
    json_reply,
)
from infrastructure.local.mailpit.run_figures import RunFigures
from infrastructure.local.releasing.choices import ReleaseChoices

_KIB = 1024


class ApplicationRoutes:
    """The operations on the service as a whole. ``folder`` is that of the mailbox."""

    def __init__(
        self,
        messages: Messages,
        figures: RunFigures,
        folder: Path,
        *,
        release: ReleaseChoices,
        label: str = "",
        spam_check: str = "",
        has_metrics: bool = False,
    ) -> None:
        self._messages = messages
        self._figures = figures
        self._folder = folder
        self._release = release
        self._label = label
        self._spam_check = spam_check
        self._has_metrics = has_metrics

    def routes(self) -> list[MailpitRoute]:
        """Return the routes."""
        return [
            MailpitRoute("GET", f"{API}/info", self.show),
            MailpitRoute("GET", f"{API}/webui", self.show_choices),
            *([MailpitRoute("GET", "/metrics", self.show_metrics)] if self._has_metrics else []),
            MailpitRoute("GET", "/livez", self.live),
            MailpitRoute("GET", "/readyz", self.ready),
        ]

    def show(self, request: MailpitRequest) -> MailpitReply:
        """Show the version, and figures of the mailbox and of the process."""
        return json_reply(self._info())

    def show_metrics(self, request: MailpitRequest) -> MailpitReply:
        """Show the same figures to Prometheus."""
        from infrastructure.local.figures import text_of
        from infrastructure.local.mailpit.metrics import Metrics

        return MailpitReply(*text_of(Metrics(self._info())))

    def _info(self) -> dict[str, Any]:
        index = self._messages.mailbox.index
        messages, unread = index.counts()
        return {
            "Version": VERSION,
            # Nobody is asked for it
            "LatestVersion": "disabled",
            "Database": str(self._folder),
            "DatabaseSize": index.size() + _size_of_files(self._folder),
            "Messages": messages,
            "Unread": unread,
            "Tags": index.tags(),
            "RuntimeStats": {
                "Memory": _memory(),
                **self._figures.shown(),
                "SMTPRejected": 0,
                "SMTPIgnored": 0,
            },
        }

    def show_choices(self, request: MailpitRequest) -> MailpitReply:
        """Show what a program that shows the mailbox offers."""
        host = self._release.host
        entries = self._release.recipients.entries if host else ()
        return json_reply(
            {
                "Label": self._label,
                "MessageRelay": {
                    "Enabled": host is not None,
                    "SMTPServer": host.shown if host else "",
                    "ReturnPath": "",
                    "AllowedRecipients": ", ".join(entries),
                    "BlockedRecipients": "",
                    "OverrideFrom": "",
                    "PreserveMessageIDs": False,
                    "RecipientAllowlist": ", ".join(entries),
                },
                "SpamAssassin": bool(self._spam_check),
                "ChaosEnabled": self._release.chaos is not None,
                "DuplicatesIgnored": False,
                "HideDeleteAllButton": False,
            }
        )

    def live(self, request: MailpitRequest) -> MailpitReply:
        """Say that the process runs."""
        return MailpitReply(b"")

    def ready(self, request: MailpitRequest) -> MailpitReply:
        """Say that the mailbox can be read."""
        self._messages.mailbox.index.counts()
        return MailpitReply(b"")


def _size_of_files(folder: Path) -> int:
    """Return the bytes of the index, whose files are beside the folders of the messages."""
    return sum(each.stat().st_size for each in folder.glob("*.sqlite3*"))


def _memory() -> int:
    """Return the bytes that this process holds now, or held at most where that is not told."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * _KIB
