from __future__ import annotations

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.ip_pools import service
from chalicelib.ip_pools.request import PoolFields
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from tests.unit.sending_domains.examples import domain

UNVERIFIED = DomainStatus(ownership_verified=True, cname_status="valid")


@pytest.fixture(autouse=True)
def signers(cloud: None) -> None:
    """Domains: verified, not verified, and another account's."""
    for each in (
        domain("signs.test"),
        domain("sub.test", subaccount_id=3),
        domain("unsigned.test", status=UNVERIFIED),
        domain("other.test", account=2),
    ):
        assert domains.create(each)


@pytest.mark.spec("2.8-t3")
@pytest.mark.spec("2.8-t4")
@pytest.mark.parametrize("field", ["signing_domain", "fbl_signing_domain"])
def test_a_signing_domain_must_be_the_accounts_with_a_verified_record(field: str) -> None:
    for name in ("unsigned.test", "other.test", "missing.test", "not a name"):
        with pytest.raises(ApiError, match=field) as refusal:
            service.check_domains(1, PoolFields(**{field: name}))
        assert refusal.value.status == 400
    for name in ("signs.test", "Sub.Test"):
        fields = service.check_domains(1, PoolFields(**{field: name}))
        assert fields == PoolFields(**{field: name.lower()})
    assert service.check_domains(1, PoolFields(**{field: ""})) == PoolFields(**{field: ""})
