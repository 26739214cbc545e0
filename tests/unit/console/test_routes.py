"""The console's files are served with strict headers, packed, and by relative addresses only."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from app import app
from chalicelib import __version__
from chalicelib.console.files import FOLDER
from chalicelib.core import settings
from infrastructure.console_vendor.__main__ import LOCK, digests
from tests.unit.core.gateway_events import event


def get(path: str, **headers: str) -> dict[str, Any]:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return app(event(app, "GET", path, headers=fields), None)


def body(response: dict[str, Any]) -> bytes:
    assert response["isBase64Encoded"]
    return base64.b64decode(response["body"])


def policy(response: dict[str, Any]) -> dict[str, str]:
    text = response["headers"]["Content-Security-Policy"]
    return {
        name: rest for name, _, rest in (each.strip().partition(" ") for each in text.split(";"))
    }


def test_the_console_is_at_the_path_with_a_slash() -> None:
    assert get("/console")["headers"]["Location"] == "console/"
    response = get("/console/")
    assert response["statusCode"] == 200
    assert body(response) == (FOLDER / "index.html").read_bytes()


def test_docs_leads_to_the_page_about_the_api() -> None:
    assert get("/docs")["headers"]["Location"] == "console/#/api"
    assert get("/docs/")["headers"]["Location"] == "../console/#/api"


def test_the_console_learns_which_service_it_belongs_to() -> None:
    assert json.loads(get("/console/service.json")["body"]) == {
        "stage": "test",
        "version": __version__,
    }


def test_the_page_runs_only_its_own_scripts_and_is_in_no_frame() -> None:
    assert policy(get("/console/")) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "frame-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    headers = get("/console/")["headers"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_the_frame_for_mail_has_an_origin_of_its_own_and_loads_nothing() -> None:
    expected = {
        "sandbox": "allow-scripts allow-popups allow-popups-to-escape-sandbox",
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "font-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self'",
    }
    assert policy(get("/console/mail-frame.html")) == expected
    remote = app(event(app, "GET", "/console/mail-frame.html", query={"images": ["remote"]}), None)
    assert policy(remote) == {**expected, "img-src": "data: http: https:"}


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/console/app.js", "text/javascript; charset=utf-8"),
        ("/console/styles/tokens.css", "text/css; charset=utf-8"),
        ("/console/icon.svg", "image/svg+xml"),
        ("/console/vendor/preact.js", "text/javascript; charset=utf-8"),
    ],
)
def test_a_file_has_its_media_type(path: str, media_type: str) -> None:
    assert get(path)["headers"]["Content-Type"] == media_type


def test_a_client_that_takes_gzip_gets_it() -> None:
    plain = get("/console/vendor/preact.js")
    packed = get("/console/vendor/preact.js", Accept_Encoding="br, gzip")
    assert packed["headers"]["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain["headers"]
    assert len(body(packed)) < len(body(plain)) / 2
    assert gzip.decompress(body(packed)) == body(plain)


def test_a_file_that_did_not_change_is_not_sent_again() -> None:
    first = get("/console/app.js")
    etag = first["headers"]["ETag"]
    second = get("/console/app.js", If_None_Match=etag)
    assert second["statusCode"] == 304
    assert body(second) == b""
    assert get("/console/app.js", If_None_Match='"another"')["statusCode"] == 200


def test_a_changed_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.console.files.FOLDER", tmp_path)
    file = tmp_path / "a.js"
    file.write_text("1")
    assert body(get("/console/a.js")) == b"1"
    file.write_text("2")
    assert body(get("/console/a.js")) == b"2"


@pytest.mark.parametrize(
    "path",
    [
        "/console/nothing.js",
        "/console/api.d.ts",
        "/console/..%2Fapp.py",
        "/console/%2e%2e/app.js",
        "/console/vendor/..%2f..%2fapp.js",
        "/console/vendor",
        "/console/vendor/.hidden.js",
        "/console/%00.js",
        "/console/a%0d%0ab.js",
    ],
)
def test_nothing_else_is_served(path: str) -> None:
    assert get(path)["statusCode"] == 404


@pytest.mark.parametrize(
    "path", ["/console", "/console/", "/console/app.js", "/console/vendor/preact.js", "/docs"]
)
def test_a_setting_switches_the_console_off(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSOLE", "false")
    settings.settings.cache_clear()
    assert get(path)["statusCode"] == 404


def test_all_addresses_are_relative() -> None:
    """The stage of API Gateway is part of the path."""
    for path in [*FOLDER.glob("*.*"), *FOLDER.glob("[!v]*/*")]:
        text = path.read_text()
        assert not re.search(r"""(?:src|href|from|import\()\s*=?\s*["']/""", text), path
        assert not re.search(r"""["'`(]http://(?!www\.w3\.org)""", text), path


def test_every_file_of_others_is_the_one_that_the_lock_names() -> None:
    assert digests() == json.loads(LOCK.read_text())["sha256"]


def test_the_check_of_types_knows_the_versions_of_the_lock() -> None:
    lock = {each["name"]: each["version"] for each in json.loads(LOCK.read_text())["packages"]}
    tools = json.loads((FOLDER.parent / "package.json").read_text())["devDependencies"]
    versions = {name: version for name, version in tools.items() if name in lock}
    assert versions == {name: lock[name] for name in ("@preact/signals", "preact", "uplot")}
