"""A second factor is set up, used once for each code, and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from chalicelib.core import config_cache
from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.users import second_factor
from chalicelib.users.model import User
from chalicelib.users.store import users
from tests.unit.calling import Client, Response
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_key, make_user, sign_in
from tests.unit.users.authenticators import SoftwarePasskey, code_by_oathtool, needs_oathtool

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/second-factor"
START = 1_700_000_010.0


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moving_clock(START) as moving:
        make_account()
        yield moving


def code_of(secret: str, now: float) -> str:
    import pyotp

    return pyotp.TOTP(secret).at(int(now))


def set_up(browser: Client, now: float) -> tuple[str, list[str]]:
    """Set up an authenticator; return its secret and the recovery codes."""
    secret = browser.post(PATH, {"type": "totp"}).results["secret"]
    reply = browser.put(PATH, {"code": code_of(secret, now)})
    return secret, reply.results["recovery_codes"]


def present(user: User) -> User:
    after = users.get(user.id)
    assert after
    return after


def add_passkey(browser: Client, name: str = "Laptop") -> tuple[SoftwarePasskey, Response]:
    request = browser.post(PATH, {"type": "passkey"}).results
    passkey = SoftwarePasskey(id=name.encode())
    credential = passkey.create(request["options"])
    body = {"credential": credential, "state": request["state"], "name": name}
    return passkey, browser.put(PATH, body)


@needs_oathtool
def test_an_authenticator_is_set_up_by_the_codes_of_oathtool(clock: Clock) -> None:
    user = make_user(email="ann@acme.example")
    browser = sign_in(user)
    offer = browser.post(PATH, {"type": "totp"}).results
    secret = offer["secret"]
    assert len(secret) == 32
    uri = urlsplit(offer["uri"])
    assert (uri.scheme, uri.netloc) == ("otpauth", "totp")
    assert unquote(uri.path) == "/Company 1:ann@acme.example"
    assert parse_qs(uri.query)["secret"] == [secret]
    assert parse_qs(uri.query)["issuer"] == ["Company 1"]
    assert secret.encode() not in present(user).totp_pending
    wrong = browser.put(PATH, {"code": "000000"})
    assert (wrong.status, wrong.error["param"]) == (400, "code")
    assert not present(user).tfa_enabled
    codes = browser.put(PATH, {"code": code_by_oathtool(secret, clock.now)}).results
    assert len(set(codes["recovery_codes"])) == 10
    factors = {"totp": True, "passkeys": [], "recovery_codes_left": 10}
    assert browser.get(PATH).results == factors | {"csrf_token": browser.headers["X-CSRF-Token"]}
    for steps in (-2, -1, 0, 1, 2):
        clock.now += 300
        code = code_by_oathtool(secret, clock.now + 30 * steps)
        assert second_factor.use_code(present(user), code) == (abs(steps) <= 1), steps


def test_a_code_is_good_once_in_its_window(clock: Clock) -> None:
    user = make_user()
    secret, _ = set_up(sign_in(user), clock.now)
    assert not second_factor.use_code(user, code_of(secret, clock.now))
    clock.now += 30
    code = code_of(secret, clock.now)
    assert second_factor.use_code(user, code)
    assert not second_factor.use_code(user, code)
    assert not second_factor.use_code(user, code_of(secret, clock.now - 30))
    later = code_of(secret, clock.now + 30)
    assert second_factor.use_code(user, f"{later[:3]} {later[3:]}")


def test_of_two_simultaneous_uses_of_a_code_one_succeeds(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_user()
    secret, codes = set_up(sign_in(user), clock.now)
    clock.now += 30
    for code in (code_of(secret, clock.now), codes[0]):
        # Another use comes between the reading and the writing of the first
        read, results = users.get, []

        def overtaken(
            user_id: str,
            code: str = code,
            read: Callable[[str], User | None] = read,
            results: list[bool] = results,
        ) -> User | None:
            before = read(user_id)
            if not results:
                results.append(False)
                results[0] = second_factor.use_code(user, code)
            return before

        monkeypatch.setattr(users, "get", overtaken)
        outer = second_factor.use_code(user, code)
        monkeypatch.undo()
        assert (outer, results) == (False, [True])


def test_a_recovery_code_is_used_up(clock: Clock) -> None:
    user = make_user()
    browser = sign_in(user)
    _, codes = set_up(browser, clock.now)
    record = str(present(user))
    assert not any(code in record or code.replace("-", "") in record for code in codes)
    assert second_factor.use_code(user, codes[3].upper().replace("-", " "))
    assert not second_factor.use_code(user, codes[3])
    assert browser.get(PATH).results["recovery_codes_left"] == 9
    assert not second_factor.use_code(make_user(), codes[4])
    renewed = browser.post(f"{PATH}/recovery-codes", {}).results["recovery_codes"]
    assert len(renewed) == 10
    assert not second_factor.use_code(user, codes[4])
    assert second_factor.use_code(user, renewed[4])


def test_recovery_codes_need_a_second_factor(clock: Clock) -> None:
    assert sign_in(make_user()).post(f"{PATH}/recovery-codes", {}).status == 409


def test_another_authenticator_counts_after_its_confirmation_only(clock: Clock) -> None:
    user = make_user()
    browser = sign_in(user)
    first, _ = set_up(browser, clock.now)
    second = browser.post(PATH, {"type": "totp"}).results["secret"]
    clock.now += 60
    assert not second_factor.use_code(user, code_of(second, clock.now))
    assert second_factor.use_code(user, code_of(first, clock.now))
    confirmed = browser.put(PATH, {"code": code_of(second, clock.now)})
    assert confirmed.results == {"recovery_codes": []}
    clock.now += 60
    assert not second_factor.use_code(user, code_of(first, clock.now))
    assert second_factor.use_code(user, code_of(second, clock.now))
    assert browser.put(PATH, {"code": code_of(second, clock.now)}).status == 409


def test_the_session_that_sets_up_a_factor_has_shown_it(clock: Clock) -> None:
    make_account(2, tfa_required=True)
    user = make_user(2)
    browser = sign_in(user)
    reply = browser.get("/api/v1/templates")
    assert (reply.status, reply.error["code"]) == (403, "2fa_setup_required")
    for method, path in (("DELETE", PATH), ("POST", f"{PATH}/recovery-codes")):
        assert browser.call(method, path, {}).error["code"] == "2fa_setup_required"
    set_up(browser, clock.now)
    assert browser.get("/api/v1/templates").status == 200
    assert sign_in(user).get("/api/v1/templates").status == 403
    assert browser.delete(PATH).status == 409
    assert present(user).tfa_enabled


def test_removing_factors_ends_the_other_sessions(clock: Clock) -> None:
    user = make_user()
    browser, other = sign_in(user), sign_in(user)
    set_up(browser, clock.now)
    add_passkey(browser)
    assert other.get("/api/v1/templates").error["code"] == "2fa_setup_required"
    other = sign_in(user, second_factor=True)
    assert other.get("/api/v1/templates").status == 200
    assert browser.delete(PATH).status == 204
    factors = browser.get(PATH).results
    assert (factors["totp"], factors["passkeys"], factors["recovery_codes_left"]) == (False, [], 0)
    assert other.get("/api/v1/templates").status == 401
    assert browser.put("/api/v1/account", {"tfa_required": True}).status == 200
    config_cache.clear_cache()
    assert browser.get("/api/v1/templates").error["code"] == "2fa_setup_required"


def test_a_session_that_has_not_shown_the_users_factor_changes_none(clock: Clock) -> None:
    user = make_user()
    secret, _ = set_up(sign_in(user), clock.now)
    by_provider = sign_in(user, method="acme")
    for method, path, body, code in (
        ("POST", PATH, {"type": "totp"}, "2fa_required"),
        ("POST", PATH, {"type": "passkey"}, "2fa_required"),
        ("PUT", PATH, {"credential": {}, "state": "x"}, "2fa_required"),
        ("DELETE", PATH, None, "2fa_setup_required"),
        ("DELETE", f"{PATH}/totp", None, "2fa_setup_required"),
        ("DELETE", f"{PATH}/passkeys/x", None, "2fa_setup_required"),
        ("POST", f"{PATH}/recovery-codes", {}, "2fa_setup_required"),
        ("GET", "/api/v1/templates", None, "2fa_setup_required"),
    ):
        reply = by_provider.call(method, path, body)
        assert (reply.status, reply.error.get("code")) == (403, code), path
    for status in (*[400] * 6, 429):
        assert by_provider.put(PATH, {"code": "000000"}).status == status
    clock.now += 60
    assert by_provider.put(PATH, {"code": code_of(secret, clock.now)}).status == 200
    assert by_provider.post(f"{PATH}/recovery-codes", {}).status == 200


def test_a_passkey_is_a_factor_and_its_removal_may_be_that_of_the_last(clock: Clock) -> None:
    user = make_user()
    browser = sign_in(user)
    _, added = add_passkey(browser)
    assert len(added.results["recovery_codes"]) == 10
    _, second = add_passkey(browser, "Phone")
    assert second.results == {"recovery_codes": []}
    laptop, phone = browser.get(PATH).results["passkeys"]
    assert (laptop["name"], laptop["last_used"]) == ("Laptop", None)
    assert browser.delete(f"{PATH}/passkeys/{laptop['id']}").status == 204
    assert browser.delete(f"{PATH}/passkeys/{laptop['id']}").status == 404
    assert present(user).tfa_enabled
    assert browser.put("/api/v1/account", {"tfa_required": True}).status == 200
    config_cache.clear_cache()
    assert browser.delete(f"{PATH}/passkeys/{phone['id']}").status == 409
    assert browser.put("/api/v1/account", {"tfa_required": False}).status == 200
    config_cache.clear_cache()
    assert browser.delete(f"{PATH}/passkeys/{phone['id']}").status == 204
    assert (present(user).tfa_enabled, present(user).recovery) == (False, ())


def test_the_authenticator_goes_alone_and_its_removal_may_be_that_of_the_last(
    clock: Clock,
) -> None:
    user = make_user()
    browser, other = sign_in(user), sign_in(user, second_factor=True)
    assert browser.delete(f"{PATH}/totp").status == 404
    secret, codes = set_up(browser, clock.now)
    add_passkey(browser)
    assert other.get("/api/v1/templates").status == 200
    assert browser.delete(f"{PATH}/totp").status == 204
    assert other.get("/api/v1/templates").status == 401
    clock.now += 60
    assert not second_factor.use_code(user, code_of(secret, clock.now))
    assert second_factor.use_code(user, codes[0])
    factors = browser.get(PATH).results
    assert (factors["totp"], len(factors["passkeys"])) == (False, 1)
    set_up(browser, clock.now)
    assert browser.delete(f"{PATH}/passkeys/{factors['passkeys'][0]['id']}").status == 204
    assert browser.put("/api/v1/account", {"tfa_required": True}).status == 200
    config_cache.clear_cache()
    assert browser.delete(f"{PATH}/totp").status == 409
    assert browser.put("/api/v1/account", {"tfa_required": False}).status == 200
    config_cache.clear_cache()
    assert browser.delete(f"{PATH}/totp").status == 204
    assert (present(user).tfa_enabled, present(user).recovery) == (False, ())


@pytest.mark.parametrize(
    "body",
    [{}, {"type": "sms"}, {"type": None}, {"type": ["totp"]}],
)
def test_a_factor_of_another_type_is_refused(clock: Clock, body: dict[str, object]) -> None:
    assert sign_in(make_user()).post(PATH, body).status == 400


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 123456},
        {"code": "1" * 41},
        {"credential": "x", "state": "x"},
        {"credential": {}},
        {"credential": {}, "state": "none of ours"},
    ],
)
def test_a_confirmation_in_another_form_is_refused(clock: Clock, body: dict[str, object]) -> None:
    assert sign_in(make_user()).put(PATH, body).status == 400


def test_a_code_that_confirms_nothing_is_refused(clock: Clock) -> None:
    assert sign_in(make_user()).put(PATH, {"code": "123456"}).status == 409


def test_a_key_has_no_second_factor(clock: Clock) -> None:
    assert make_key().get(PATH).status == 403


def test_a_change_of_factors_is_in_the_audit_log_without_secrets(clock: Clock) -> None:
    user = make_user()
    browser = sign_in(user)
    secret, codes = set_up(browser, clock.now)
    lines: Table[AnyItem] = Table("audit")
    query = {"key": f"1#users#{user.id}"}
    changes = [
        each["changes"]
        for each in lines.query_all("#resource_key = :key", query, index="by_resource")
    ]
    assert any('"tfa_enabled":{"from":false,"to":true}' in each for each in changes)
    assert not any(word in str(changes) for word in (secret, *codes))


def test_codes_that_are_shown_after_single_sign_on_are_in_the_audit_log(clock: Clock) -> None:
    user = make_user()
    secret, _ = set_up(sign_in(user), clock.now)
    browser = sign_in(user, method="acme")
    clock.passes(60)
    wrong = "000000" if code_of(secret, clock.now) != "000000" else "111111"
    assert browser.put(PATH, {"code": wrong}).status == 400
    clock.passes(60)
    reply = browser.put(PATH, {"code": code_of(secret, clock.now)})
    assert reply.status == 200
    assert [each.partition("=")[0] for each in reply.cookies] == ["device"]
    lines: Table[AnyItem] = Table("audit")
    query = {"key": f"1#second-factor#{user.id}"}
    outcomes = [
        each["outcome"]
        for each in lines.query_all("#resource_key = :key", query, index="by_resource")
    ]
    assert outcomes == ["refused", "done"]
