"""Read the body of ``PUT /account`` (spec 4.6); missing fields stay, null removes options."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import pydantic

from chalicelib.accounts.model import Account
from chalicelib.core.fields import Body
from chalicelib.core.options import Changes, changed


class AccountOptions(Body):
    """The options an account can choose."""

    smtp_tracking_default: bool | None = None
    rest_tracking_default: bool | None = None
    click_tracking: bool | None = None
    initial_open_pixel_tracking: bool | None = None
    transactional_default: bool | None = None
    transactional_unsub: bool | None = None
    inline_seeds: bool | None = None


class AccountChange(Body):
    """The changes of an account."""

    company_name: Annotated[str, pydantic.Field(max_length=256)] | None = None
    tfa_required: bool | None = None
    options: AccountOptions | None = None

    def apply(self, account: Account) -> Account:
        """Return ``account`` with the changes."""
        fields = self.model_dump(exclude_none=True, exclude={"options"})
        return replace(account, options=changed(account.options, self._option_changes()), **fields)

    def _option_changes(self) -> Changes:
        if self.is_null("options"):
            return dict.fromkeys(AccountOptions.model_fields)
        return self.options.model_dump(exclude_unset=True) if self.options else {}
