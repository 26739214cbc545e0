"""Resources that the options of a transmission name must exist and be the sender's."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.model import INVALID, VALID, DomainStatus
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import TrackingDomain
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import Sender, check_options, find_sender
from tests.fake_cloud import aws_requests
from tests.unit.fleet.examples import make_pool
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.people import make_account
from tests.unit.refusals import refusal_code
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import make_transmission

NAME = "mail.example.test"


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def sender(name: str | None = NAME) -> Sender:
    return find_sender(1, None, name)


def checked(options: Any = None, **fields: Any) -> Transmission:
    return check_options(make_transmission(options=options or {}, **fields), sender())


def refused_options(options: Any = None, **fields: Any) -> tuple[int, str | None]:
    return refusal_code(checked, options, **fields)


@pytest.mark.cost
def test_options_that_are_not_set_cost_no_read() -> None:
    who = sender()
    with aws_requests() as requests:
        check_options(make_transmission(options={}), who)
    assert requests == []


@pytest.mark.spec("2.1-t15")
def test_a_pool_is_named_by_its_id_in_any_case() -> None:
    name = make_pool("Fast mail")
    for data in (name, name.upper()):
        assert checked({"ip_pool": data}).options["ip_pool"] == name
    assert checked({}).options["ip_pool"] == "default"
    assert refused_options({"ip_pool": "slow"}) == (422, "1300")


@pytest.mark.spec("2.1-t17")
@pytest.mark.spec("4.1-r7")
@pytest.mark.spec("7-t14")
class TestDkimKey:
    def named(self, selector: str, status: str, of: str = NAME) -> None:
        key = DkimKey(selector, of, "MIIBpublic", b"sealed")
        sending_domain = domains.get(of)
        assert sending_domain is not None
        further_keys.add(sending_domain, FurtherKey(f"id-{selector}", key, 0.0, status))

    def test_a_verified_key_of_the_sending_domain_is_accepted(self) -> None:
        self.named("s2", VALID)
        for name in ("s1", "s2", "S2", "id-s2"):
            checked({"dkim_key": name})

    def test_a_key_that_is_unknown_unverified_or_anothers_is_refused(self) -> None:
        self.named("s2", INVALID)
        domains.create(domain("other.test"))
        self.named("s3", VALID, "other.test")
        for name in ("s2", "s3", "s9", "x" * 5000, "é"):
            assert refused_options({"dkim_key": name}) == (400, "1100")

    def test_the_domains_own_key_is_refused_while_it_is_not_verified(self) -> None:
        status = DomainStatus(ownership_verified=True, dkim_status=INVALID)
        domains.create(domain("new.test", status=status))
        with pytest.raises(ServiceError, match="verified DKIM key"):
            check_options(make_transmission(options={"dkim_key": "s1"}), sender("new.test"))

    def test_the_key_is_looked_up_later_where_a_template_makes_the_from(self) -> None:
        check_options(make_transmission(options={"dkim_key": "s9"}), sender(None))


@pytest.mark.spec("2.1-t9")
class TestReturnPath:
    def test_the_domain_of_a_return_path_takes_bounces_and_is_the_senders(self) -> None:
        checked(return_path=f"anything@{NAME}")
        domains.create(domain("plain.test", status=DomainStatus(ownership_verified=True)))
        domains.create(domain("other.test", account=2))
        domains.create(domain("sub.test", subaccount_id=7))
        for name in ("plain.test", "other.test", "sub.test", "unknown.test"):
            assert refused_options(return_path=f"b@{name}") == (400, "7001")

    @pytest.mark.parametrize("text", ["nobody", NAME, f"@{NAME}", f"a b@{NAME}"])
    def test_a_return_path_is_an_address(self, text: str) -> None:
        assert refused_options(return_path=text) == (422, "1300")

    def test_an_enterprise_account_may_use_any_return_path(self) -> None:
        make_account(2, service_level="enterprise")
        transmission = make_transmission(account_id=2, options={}, return_path="me@anywhere.test")
        check_options(transmission, find_sender(2, None, None))


@pytest.mark.spec("2.1-t10")
@pytest.mark.spec("4.1-r9")
@pytest.mark.spec("7-t15")
class TestTrackingDomain:
    def make(self, name: str, status: str = VALID, **fields: Any) -> None:
        details = {"account_id": 1, "created": 0.0, "cname_status": status} | fields
        assert tracking_domains.create(TrackingDomain(name, **details))

    def test_a_tracking_domain_is_a_verified_one_of_the_sender(self) -> None:
        self.make("t.example.test")
        checked(tracking_domain="t.example.test")
        self.make("new.test", "unverified")
        self.make("other.test", account_id=2)
        self.make("sub.test", subaccount_id=7)
        for name in ("new.test", "other.test", "sub.test", "unknown.test", "no domain"):
            status, code = refused_options(tracking_domain=name)
            assert (status, code) == (400, "1200")

    def test_a_subaccount_may_use_its_own_tracking_domains_and_the_primary_accounts(self) -> None:
        self.make("t.example.test")
        self.make("sub.test", subaccount_id=7)
        for name in ("t.example.test", "sub.test"):
            checked(subaccount_id=7, tracking_domain=name)


def test_a_reply_domain_is_an_inbound_domain_of_the_sender_itself() -> None:
    store_inbound_domain("in.test")
    store_inbound_domain("of-a-subaccount.test", subaccount_id=7)
    store_inbound_domain("theirs.test", 2)
    for name in ("in.test", "IN.test"):
        assert checked({"reply_domain": name}).options["reply_domain"] == name
    for name in ("of-a-subaccount.test", "theirs.test", "none.test", "x" * 5000, "é", "in.test."):
        assert refused_options({"reply_domain": name}) == (422, "1603"), name
    theirs = make_transmission(options={"reply_domain": "in.test"}, subaccount_id=7)
    assert refusal_code(check_options, theirs, sender()) == (422, "1603")
