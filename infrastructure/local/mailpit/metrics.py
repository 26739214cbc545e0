"""Tell Prometheus the figures that Mailpit tells, under their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MAILBOX = {
    "Messages": ("messages", "Messages in the mailbox."),
    "Unread": ("messages_unread", "Messages in the mailbox that nobody has read."),
    "DatabaseSize": ("database_size_bytes", "Size of the mailbox."),
}
_PROCESS = {
    "Memory": ("memory_usage_bytes", "Memory that the process has."),
    "Uptime": ("uptime_seconds", "Seconds since the process began."),
}
_COUNTERS = {
    "MessagesDeleted": ("messages_deleted", "Messages that were deleted."),
    "SMTPAccepted": ("smtp_accepted", "Messages that came."),
    "SMTPAcceptedSize": ("smtp_accepted_size_bytes", "Size of the messages that came."),
    "SMTPRejected": ("smtp_rejected", "Messages that were refused."),
    "SMTPIgnored": ("smtp_ignored", "Messages that were left out."),
}


class Metrics:
    """The figures of an answer to ``GET /info``, for the client library of Prometheus."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        self._info = info

    def collect(self) -> Iterator[Any]:
        """Yield a family for each figure."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        process = self._info["RuntimeStats"]
        for figures, values in ((_MAILBOX, self._info), (_PROCESS, process)):
            for field, (name, text) in figures.items():
                yield GaugeMetricFamily(f"mailpit_{name}", text, value=values[field])
        for field, (name, text) in _COUNTERS.items():
            yield CounterMetricFamily(f"mailpit_{name}", text, value=process[field])
        tags = GaugeMetricFamily("mailpit_tag_messages", "Messages with a tag.", labels=["tag"])
        for tag, count in self._info["Tags"].items():
            tags.add_metric([tag], count)
        yield tags
