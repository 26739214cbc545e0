"""The application's dispatch, over events as API Gateway sends them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.aws import Overloaded
from chalicelib.core.errors import ApiError, TooManyRequests, Unauthorized
from chalicelib.core.http import (
    AUTHENTICATED,
    PUBLIC,
    App,
    Caller,
    Reply,
    Request,
    Routes,
    empty,
    ok,
    raw,
)
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings as configured
from tests.unit.core.gateway_events import event, json_body

_KEYS = {
    "viewer": Caller(Scope(1, 0), "viewer", frozenset({"templates/view"})),
    "nobody": Caller(Scope(1, 0), "nobody", frozenset()),
}
_JSON = {"Content-Type": "application/json"}

routes = Routes(__name__)


@routes.get("/api/v1/templates", grant="templates/view")
def list_templates(request: Request) -> Reply:
    return ok({"key": request.caller.key_id, "query": dict(request.query)})


@routes.get("/api/v1/templates/{template_id}", grant="templates/view")
def show_template(request: Request, template_id: str) -> Reply:
    return ok(template_id)


@routes.put("/api/v1/templates/{template_id}", grant="templates/modify")
def update_template(request: Request, template_id: str) -> Reply:
    return ok(request.json())


@routes.post("/api/v1/echo", grant=PUBLIC)
def echo(request: Request) -> Reply:
    return ok(request.json())


@routes.get("/api/v1/whoami", grant=AUTHENTICATED)
def whoami(request: Request) -> Reply:
    return ok(request.caller.key_id)


@routes.get("/api/v1/fault", grant=PUBLIC)
def fault(request: Request) -> Reply:
    raise KeyError("secret detail")


@routes.get("/api/v1/unsayable", grant=PUBLIC)
def unsayable(request: Request) -> Reply:
    return ok(object())


@routes.get("/api/v1/unsayable-error", grant=PUBLIC)
def unsayable_error(request: Request) -> Reply:
    raise ApiError(400, "invalid params", value=object())


@routes.delete("/api/v1/limit", grant=PUBLIC)
def limit(request: Request) -> Reply:
    raise ApiError(420, "Exceed Sending Limit (daily)", code="2101", headers={"X-Note": "a"})


@routes.get("/t/pixel.gif", grant=PUBLIC)
def pixel(request: Request) -> Reply:
    return raw(b"GIF89a\xff", "image/gif")


@routes.post("/api/v1/nothing", grant=PUBLIC)
def nothing(request: Request) -> Reply:
    return empty(204)


def _authenticate(request: Request, *, subaccount_header: bool) -> Caller:
    caller = _KEYS.get(request.headers.get("authorization", ""))
    if caller is None:
        raise Unauthorized
    return caller


def _app() -> App:
    app = App("test", authenticate=_authenticate)
    app.register_blueprint(routes)
    return app


APP = _app()


def call(method: str, path: str, key: str = "viewer", **details: Any) -> dict[str, Any]:
    headers = {"Authorization": key, **details.pop("headers", {})}
    return APP(event(APP, method, path, headers=headers, **details), None)


def _admits_large_body(method: str, path: str, key: str, app: App = APP) -> bool:
    return app.admits_large_body(event(app, method, path, headers={"Authorization": key}))


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "/api/v1/templates", "nobody"),
        ("GET", "/nothing", "viewer"),
        ("PATCH", "/api/v1/templates", "viewer"),
    ],
)
def test_a_large_body_is_for_requests_with_a_key_that_may_make_them(
    method: str, path: str, key: str
) -> None:
    assert _admits_large_body("GET", "/api/v1/templates", "viewer")
    assert not _admits_large_body(method, path, key)


@pytest.mark.parametrize("fault", [OSError("no storage"), TooManyRequests()])
def test_a_large_body_is_kept_where_only_the_request_itself_can_tell(fault: Exception) -> None:
    """Without it, a request that is admitted a moment later would be refused as too large."""

    def fail(request: Request, *, subaccount_header: bool) -> Caller:
        raise fault

    app = App("test", authenticate=fail)
    app.register_blueprint(routes)
    assert _admits_large_body("GET", "/api/v1/templates", "viewer", app)


def test_a_view_gets_the_request_and_its_reply_is_returned() -> None:
    response = call("GET", "/api/v1/templates", query={"draft": ["true"]})
    assert response["statusCode"] == 200
    assert json_body(response) == {"results": {"key": "viewer", "query": {"draft": "true"}}}


def test_every_reply_carries_the_request_id() -> None:
    for path in ("/api/v1/templates", "/nowhere", "/api/v1/fault"):
        assert call("GET", path, request_id="abc")["headers"]["X-Request-ID"] == "abc"


@pytest.mark.parametrize(
    ("encoded", "decoded"),
    [("a%2Fb", "a/b"), ("a+b%40x.test", "a+b@x.test"), ("a%252Fb", "a%2Fb"), ("%C3%A9", "é")],
)
def test_path_parameters_are_decoded_once(encoded: str, decoded: str) -> None:
    assert json_body(call("GET", f"/api/v1/templates/{encoded}")) == {"results": decoded}


@pytest.mark.spec("1-r1")
@pytest.mark.parametrize("path", ["/api/v1/templates/", "/api/v1/templates/x/"])
def test_a_trailing_slash_is_ignored(path: str) -> None:
    assert call("GET", path)["statusCode"] == 200
    proxied = event(APP, "GET", path, headers={"Authorization": "viewer"})
    proxied["requestContext"]["resourcePath"] = "/{proxy+}"
    assert APP(proxied, None)["statusCode"] == 200


@pytest.mark.spec("1-r2")
def test_paths_are_case_sensitive() -> None:
    assert call("GET", "/api/v1/Templates")["statusCode"] == 404


@pytest.mark.spec("7-t4")
@pytest.mark.parametrize("path", ["/", "/x", "/api/v1", "/api/v1/templates/a/b/c/d/e", "//", "/%"])
@pytest.mark.parametrize("method", ["GET", "POST", "BREW"])
def test_unknown_paths_at_any_depth_are_404_even_without_a_key(method: str, path: str) -> None:
    response = call(method, path, key="wrong")
    assert response["statusCode"] == 404
    assert json_body(response) == {"errors": [{"message": "Resource could not be found"}]}


@pytest.mark.spec("7-t5")
@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/api/v1/templates/x", "GET, HEAD, PUT"),
        ("/api/v1/templates/", "GET, HEAD"),
        ("/api/v1/echo", "POST"),
    ],
)
def test_a_wrong_method_is_405_with_the_right_ones_even_without_a_key(
    path: str, allow: str
) -> None:
    response = call("DELETE", path, key="wrong")
    assert response["statusCode"] == 405
    assert response["headers"]["Allow"] == allow
    assert json_body(response) == {"errors": [{"message": "Method Not Allowed"}]}


@pytest.mark.spec("5-r5")
@pytest.mark.spec("7-t2")
def test_a_wrong_key_is_401_before_anything_about_the_body() -> None:
    response = call("PUT", "/api/v1/templates/x", key="wrong", body=b"{")
    assert response["statusCode"] == 401
    assert json_body(response) == {"errors": [{"message": "Unauthorized."}]}


@pytest.mark.spec("5-r3")
@pytest.mark.spec("5-r5")
@pytest.mark.spec("7-t3")
def test_a_key_without_the_grant_is_403_before_anything_about_the_body() -> None:
    response = call("PUT", "/api/v1/templates/x", key="viewer", body=b"{")
    assert response["statusCode"] == 403
    assert json_body(response) == {"errors": [{"message": "Forbidden."}]}


def test_any_valid_key_reaches_a_route_that_asks_for_one() -> None:
    assert json_body(call("GET", "/api/v1/whoami", key="nobody")) == {"results": "nobody"}
    assert call("GET", "/api/v1/whoami", key="wrong")["statusCode"] == 401


@pytest.mark.spec("7-t7")
def test_a_body_the_gateway_found_too_large_is_413_after_the_key_was_checked() -> None:
    for key, status in [("wrong", 401), ("viewer", 413)]:
        large = event(APP, "GET", "/api/v1/templates", headers={"Authorization": key})
        large["requestContext"]["bodyTooLarge"] = True
        assert APP(large, None)["statusCode"] == status


@pytest.mark.spec("7-t8")
def test_a_body_of_the_wrong_media_type_is_415() -> None:
    response = call("POST", "/api/v1/echo", body=b"a=1", headers={"Content-Type": "text/plain"})
    assert response["statusCode"] == 415
    assert json_body(response)["errors"][0]["code"] == "1700"


@pytest.mark.spec("1-r4")
def test_a_refusal_from_a_view_keeps_its_status_body_and_headers() -> None:
    response = call("DELETE", "/api/v1/limit")
    assert (response["statusCode"], response["headers"]["X-Note"]) == (420, "a")
    assert json_body(response)["errors"][0]["code"] == "2101"


@pytest.mark.spec("7-t12")
@pytest.mark.parametrize("path", ["/api/v1/fault", "/api/v1/unsayable", "/api/v1/unsayable-error"])
def test_a_fault_is_logged_with_its_id_and_shows_nothing_else(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        response = call("GET", path, request_id="id-77")
    assert response["statusCode"] == 500
    (error,) = json_body(response)["errors"]
    assert error["message"] == "Internal error"
    assert "id id-77" in error["description"]
    assert "secret" not in response["body"]
    assert "Traceback" in caplog.text
    assert "id-77" in caplog.text


@pytest.mark.spec("7-t13")
@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "ThrottlingException"}}, "Query"),
        ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, "PutItem"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
        Overloaded("reads were refused for too long"),
    ],
)
def test_an_overload_of_aws_is_503(error: Exception) -> None:
    def authenticate(request: Request, *, subaccount_header: bool) -> Caller:
        raise error

    app = App("test", authenticate=authenticate)
    app.register_blueprint(routes)
    response = app(event(app, "GET", "/api/v1/templates"), None)
    assert response["statusCode"] == 503
    assert json_body(response)["errors"][0]["message"] == "Service unavailable"


def test_a_wrong_request_to_aws_is_a_fault() -> None:
    def authenticate(request: Request, *, subaccount_header: bool) -> Caller:
        raise ClientError({"Error": {"Code": "ValidationException"}}, "Query")

    app = App("test", authenticate=authenticate)
    app.register_blueprint(routes)
    assert app(event(app, "GET", "/api/v1/templates"), None)["statusCode"] == 500


def test_an_event_that_is_no_request_is_a_fault_and_not_a_crash() -> None:
    assert APP({}, None)["statusCode"] == 500


def test_head_is_answered_wherever_get_is() -> None:
    assert call("HEAD", "/api/v1/templates")["statusCode"] == 200
    assert call("HEAD", "/api/v1/templates", key="wrong")["statusCode"] == 401
    assert call("HEAD", "/api/v1/echo")["statusCode"] == 405


def test_an_image_is_sent_whatever_the_client_accepts() -> None:
    response = call("GET", "/t/pixel.gif", headers={"Accept": "text/html"})
    assert (response["statusCode"], response["isBase64Encoded"]) == (200, True)


def test_a_reply_may_be_empty() -> None:
    assert call("POST", "/api/v1/nothing")["body"] == ""


@pytest.mark.spec("1-r7")
@settings(max_examples=150)
@given(
    body=st.binary(max_size=60) | st.text('[]{}":,\\u0dD8e-.19 tn', max_size=40).map(str.encode),
    path=st.text(st.characters(max_codepoint=0x2FF, exclude_characters="?#"), max_size=20),
    query=st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=5), min_size=1)),
)
def test_no_request_ends_in_an_internal_error(
    body: bytes, path: str, query: dict[str, list[str]]
) -> None:
    for method, target in [("POST", "/api/v1/echo"), ("GET", f"/api/v1/templates/{path}")]:
        response = call(method, target, body=body, query=query, headers=_JSON)
        assert response["statusCode"] in (200, 400, 404, 422)
        assert json.loads(response["body"]).keys() <= {"results", "errors"}


def test_requests_in_many_threads_do_not_see_each_other() -> None:
    together = threading.Barrier(16, timeout=120)

    def authenticate(request: Request, *, subaccount_header: bool) -> Caller:
        together.wait()  # every thread has its request before any thread's view runs
        return Caller(Scope(1, 0), request.headers["authorization"], frozenset({"templates/view"}))

    app = App("test", authenticate=authenticate)
    app.register_blueprint(routes)

    def ask(number: int) -> None:
        for turn in range(100):
            key = f"{number}-{turn}"
            request = event(app, "GET", "/api/v1/templates", headers={"Authorization": key})
            request["multiValueQueryStringParameters"] = {"key": [key]}
            assert json_body(app(request, None))["results"] == {"key": key, "query": {"key": key}}

    with ThreadPoolExecutor(16) as pool:
        for _ in pool.map(ask, range(16)):
            pass


def test_declared_routes_are_listed_with_their_grants() -> None:
    declared = APP.declared_routes()
    assert ("PUT", "/api/v1/templates/{template_id}", "templates/modify", True) in declared
    assert ("POST", "/api/v1/echo", "public", True) in declared
    assert len(declared) == 11


@pytest.mark.parametrize("grant", [None, "", "templates", "Templates/View"])
def test_a_route_without_a_proper_grant_is_refused(grant: str | None) -> None:
    options = {} if grant is None else {"grant": grant}
    with pytest.raises(ValueError, match="grant"):
        _app().route("/x", methods=["GET"], **options)(whoami)


def test_a_prefix_is_refused_because_routes_carry_whole_paths() -> None:
    prefixed = Routes(__name__)
    prefixed.get("/x", grant=PUBLIC)(whoami)
    with pytest.raises(ValueError, match="url_prefix"):
        _app().register_blueprint(prefixed, url_prefix="/v2")


class LateApp:
    """An application with a late route, and how often its routes were imported."""

    def __init__(self, prefix: str = "/api/v1/late") -> None:
        self.imports = 0
        self.app = App("test", authenticate=_authenticate)
        self.app.register_late([prefix], self._import)

    def _import(self) -> list[Routes]:
        self.imports += 1
        late = Routes(__name__)
        late.get("/api/v1/late/{name}", grant=PUBLIC, waits=True)(lambda request, name: ok(name))
        late.delete("/api/v1/late/{name}", grant=PUBLIC)(lambda request, name: ok(name))
        return [late]

    def status(self, method: str, path: str) -> int:
        return int(self.app(event(self.app, method, path), None)["statusCode"])


def test_late_routes_are_imported_when_one_of_their_paths_is_asked_for() -> None:
    late = LateApp()
    assert late.status("GET", "/api/v1/later/x") == late.status("GET", "/elsewhere") == 404
    assert late.imports == 0
    assert [late.status("GET", f"/api/v1/late/{name}") for name in ("x", "y%2F", "")] == [
        200,
        200,
        404,
    ]
    assert late.status("PUT", "/api/v1/late/x") == 405
    assert late.imports == 1


def test_late_routes_are_listed_and_known_to_wait() -> None:
    assert [each.method for each in LateApp().app.declared_routes()] == ["DELETE", "GET"]
    assert LateApp().app.waits("GET", "/api/v1/late/x")


def test_late_routes_are_complete_for_all_who_ask_at_once() -> None:
    late = LateApp()
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(late.status, "DELETE", "/api/v1/late/x") for _ in range(64)]
        assert {each.result() for each in calls} == {200}
    assert late.imports == 1


def test_a_late_route_that_its_prefixes_do_not_cover_is_refused() -> None:
    with pytest.raises(ValueError, match="need their prefix"):
        LateApp("/api/v1/other").app.declared_routes()


def test_a_cold_start_imports_nothing_that_is_for_people_only() -> None:
    libraries = "argon2 authlib cbor2 joserfc OpenSSL pyotp segno webauthn"
    code = (
        "import sys, app; from chalicelib.core import aws; aws.dynamodb();"
        " late = [m for m in sys.modules if m.partition('.')[0] in"
        f" {libraries.split()} or m.startswith(('chalicelib.users.', 'chalicelib.single_sign_on.'))"
        " or m == 'chalicelib.authentication.signed_in']; late = set(late) -"
        " {'chalicelib.users.roles'}; sys.exit(', '.join(late) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_route_of_the_application_itself_is_a_get_by_default() -> None:
    app = App("test", authenticate=_authenticate)
    app.route("/x", grant=PUBLIC)(nothing)
    assert app.declared_routes() == [("GET", "/x", PUBLIC, True)]
    assert app(event(app, "GET", "/x"), None)["statusCode"] == 204


def test_http_middleware_is_refused_because_it_would_not_run() -> None:
    for event_type in ("all", "http"):
        with pytest.raises(ValueError, match="middleware"):
            _app().register_middleware(lambda event, get_response: get_response(event), event_type)


def test_every_path_and_method_is_routed_to_the_function_when_packaged() -> None:
    methods = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
    assert {path: set(views) for path, views in APP.routes.items()} == {
        "/": methods,
        "/{proxy+}": methods,
    }


def test_a_request_for_which_the_gateway_knows_no_resource_finds_its_route() -> None:
    path, headers = "/api/v1/templates/x%20y", {"Authorization": "viewer"}
    request = event(APP, "GET", path, headers=headers)
    request["requestContext"]["resourcePath"] = request["resource"] = "/{proxy+}"
    request["pathParameters"] = {"proxy": path[1:]}
    assert json_body(APP(request, None)) == {"results": "x y"}


def test_a_method_of_a_path_has_one_view() -> None:
    app = _app()
    app.route("/x", methods=["GET"], grant=PUBLIC)(nothing)
    with pytest.raises(ValueError, match="two views"):
        app.route("/x", methods=["PUT", "GET"], grant=PUBLIC)(whoami)


def test_options_that_would_have_no_effect_are_refused() -> None:
    with pytest.raises(TypeError, match="cors"):
        _app().route("/x", methods=["GET"], grant=PUBLIC, cors=True)(nothing)


def test_a_view_can_be_called_as_a_plain_function() -> None:
    request = Request(authenticated=_KEYS["viewer"])
    assert show_template(request, template_id="x").body == {"results": "x"}


def test_the_line_of_a_request_names_its_route_and_its_caller_and_not_its_path(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_FORMAT", "json")
    configured.cache_clear()
    with caplog.at_level(logging.INFO):
        call("GET", "/api/v1/templates/ann%40example.test", key="viewer")
        call("GET", "/api/v1/nothing/ann%40example.test", key="viewer")
    matched, unmatched = [vars(record) for record in caplog.records if hasattr(record, "_aws")]
    assert (matched["method"], matched["status"]) == ("GET", 200)
    assert "Refusals" not in matched
    assert (unmatched["status"], unmatched["Refusals"]) == (404, 1)
    assert matched["RequestTime"] >= 0
    assert "ann%40" not in f"{caplog.text} {matched} {unmatched}"
    configured.cache_clear()
