"""Tell over HTTP by what mail leaves this machine, and try it, under ``/local/delivery``."""

from __future__ import annotations

from chalicelib.core.settings import Settings
from infrastructure.local import outgoing_mail
from infrastructure.local.gateway.local_api import LocalReply, LocalRequest, LocalRoute, results

PATH = "/local/delivery"


class DeliveryEndpoint:
    """The operations of ``/local/delivery`` for a runtime with a sink at a port."""

    def __init__(self, current: Settings, sink_port: int) -> None:
        self._current = current
        self.way_out = outgoing_mail.way_out(current, sink_port)

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [
            LocalRoute("GET", PATH, self.show),
            LocalRoute("GET", f"{PATH}/smarthost", self.check, waits=True),
        ]

    def show(self, request: LocalRequest) -> LocalReply:
        """Show by what mail leaves this machine."""
        warning = outgoing_mail.warning(self.way_out)
        return results({"leaves_by": self.way_out or None, "warning": warning or None})

    def check(self, request: LocalRequest) -> LocalReply:
        """Try the smarthost, if mail leaves by it."""
        if self.way_out != self._current.smarthost:
            return results(None)
        # Imported here, because the gateway should not start later for it
        from infrastructure.machine.checks.smarthost import check_smarthost

        return results(check_smarthost(self._current)._asdict())
