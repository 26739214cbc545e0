"""Reach two accounts of the same API, and the subaccounts of both that belong together."""

from __future__ import annotations

from postfinch.http_api import Api, ApiError
from postfinch.importing.model import State, patient
from postfinch.json_types import Json


class Accounts:
    """The account to take from and the one to take to, as their primary accounts see them."""

    def __init__(self, source: Api, target: Api, state: State) -> None:
        self.source = source
        self.target = target
        self._numbers = state.subaccounts

    def match(self) -> None:
        """Pair the subaccounts that have the same name on both sides, if the keys show them."""
        old = self._subaccounts(self.source)
        new = {each["name"]: each["id"] for each in self._subaccounts(self.target)}
        for each in old:
            if each["name"] in new:
                self._numbers.setdefault(each["id"], new[each["name"]])

    def _subaccounts(self, api: Api) -> list[Json]:
        try:
            return list(patient(lambda: api.get("/subaccounts")))
        except ApiError as error:
            if error.status in (403, 404):
                return []
            detail = {"message": f"{api.url} does not show its subaccounts: {error}"}
            raise ApiError(error.status, [detail]) from None

    def pair(self, old: int, new: int) -> None:
        """Note the number of a new subaccount."""
        self._numbers[old] = new

    def has(self, subaccount: int | None) -> bool:
        """Tell whether the owner of a thing exists in the account to take to."""
        return not subaccount or subaccount in self._numbers

    def number(self, subaccount: int | None) -> int | None:
        """Return the new number of a subaccount of the source."""
        return self._numbers[subaccount] if subaccount else None

    def source_of(self, subaccount: int | None) -> Api:
        """Return the source, acting for the owner of a thing."""
        return Api(self.source.url, self.source.key, subaccount or 0)

    def target_of(self, subaccount: int | None) -> Api:
        """Return the account to take to, acting for the new owner of a thing."""
        return Api(self.target.url, self.target.key, self.number(subaccount) or 0)
