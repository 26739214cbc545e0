"""Read the request that adds a DKIM key to a sending domain."""

from __future__ import annotations

from chalicelib.core.errors import bad_format, missing_field
from chalicelib.sending_domains.dkim_request import DkimBody
from chalicelib.sending_domains.further_keys.model import DEFAULT, is_id


class NewKey(DkimBody):
    """The body of ``POST .../dkim-keys``; without a key in it, the service generates one."""

    id: str | None = None
    dkim_key_length: int | None = None

    def checked_id(self) -> str:
        """Return the id; raises 1400 without one and 1300 if a key may not have it."""
        if self.id is None:
            raise missing_field("id is a required field")
        if not is_id(self.id):
            raise bad_format("id must be 1 to 64 letters, digits, dashes and underscores")
        if self.id == DEFAULT:
            raise bad_format(f"the id '{DEFAULT}' is reserved")
        return self.id
