"""An assistant's client, the SDK's own, reads and sends through the tools."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postfinch.http_api import Api
from tests.unit.calling import Client
from tests.unit.events.examples import event_at, record
from tests.unit.people import make_domain
from tests.unit.postfinch.api_server import run

if TYPE_CHECKING:
    from mcp import Client as Assistant

CONTENT = {"from": "me@observed.test", "subject": "Hello {{name}}", "text": "Hello {{name}}"}


def api_of(account: Client) -> Api:
    return Api(os.environ["POSTFINCH_URL"], account.key)


def with_tools(account: Client, use: Callable[[Assistant], Any], *, read_only: bool = False) -> Any:
    """Return what ``use`` returns, which gets a client of the tools.

    The packages take a second to import, which each process of a test run would spend.
    """
    from mcp import Client as Assistant

    from postfinch.mcp_tools import server

    async def connect() -> Any:
        async with Assistant(server(api_of(account), read_only=read_only)) as assistant:
            return await use(assistant)

    return asyncio.run(connect())


def call(account: Client, name: str, /, **arguments: Any) -> Any:
    """Call a tool; return its result, or its error as text."""

    async def use(assistant: Assistant) -> Any:
        result = await assistant.call_tool(name, arguments)
        if result.is_error:
            return result.content[0].text  # type: ignore[union-attr]
        structured = result.structured_content or {}
        return structured.get("result", structured)

    return with_tools(account, use)


def tools(account: Client, *, read_only: bool) -> dict[str, Any]:
    async def use(assistant: Assistant) -> Any:
        return (await assistant.list_tools()).tools

    return {tool.name: tool for tool in with_tools(account, use, read_only=read_only)}


def test_all_tools_but_one_only_read(account: Client) -> None:
    all_tools = tools(account, read_only=False)
    sending = {name for name, tool in all_tools.items() if not tool.annotations.read_only_hint}
    assert sending == {"send_message"}
    assert tools(account, read_only=True).keys() == all_tools.keys() - sending
    assert all(tool.description for tool in all_tools.values())
    assert {"idempotency_key", "to"} <= set(all_tools["send_message"].input_schema["required"])


def test_a_repeated_call_sends_nothing(account: Client) -> None:
    make_domain("observed.test")
    message = {"to": ["ann@inbox.test"], "sender": "me@observed.test", "subject": "S", "text": "T"}
    first = call(account, "send_message", idempotency_key="order-7", **message)
    assert first["total_accepted_recipients"] == 1
    assert call(account, "send_message", idempotency_key="order-7", **message) == first
    other = call(account, "send_message", idempotency_key="order-8", **message)
    assert other["id"] != first["id"]
    assert "idempotency_key" in call(account, "send_message", **message)


def test_a_refusal_is_read_by_the_assistant(account: Client) -> None:
    answer = call(account, "send_message", idempotency_key="k", to=["ann@inbox.test"], text="T")
    assert "from" in answer
    assert "'none' does not exist" in call(account, "read_template", template_id="none")
    assert "must be like 12h" in call(account, "read_metrics", last="yesterday")


def test_templates_are_read_and_filled_in(account: Client) -> None:
    template = {"id": "welcome", "content": CONTENT, "published": True}
    account.post("/api/v1/templates", template)
    assert [each["id"] for each in call(account, "list_templates")] == ["welcome"]
    assert call(account, "read_template", template_id="welcome")["content"]["text"]
    preview = call(
        account, "preview_template", template_id="welcome", substitution_data={"name": "Ann"}
    )
    assert preview["subject"] == "Hello Ann"


def test_events_and_metrics_are_searched(account: Client) -> None:
    now_ms = int(time.time() * 1000) - 120_000
    record([event_at(now_ms, 1, "delivery"), event_at(now_ms, 2, "open")])
    events = call(account, "search_events", types=["open"], recipient="ann@example.test")
    assert [event["type"] for event in events] == ["open"]
    assert call(account, "read_metrics")[0]["count_delivered"] >= 0


def test_settings_are_read(account: Client) -> None:
    make_domain("observed.test")
    account.put("/api/v1/suppression-list/ann@inbox.test", {"type": "transactional"})
    assert [each["domain"] for each in call(account, "list_sending_domains")] == ["observed.test"]
    entries = call(account, "find_suppression", recipient="ann@inbox.test")["entries"]
    assert [entry["type"] for entry in entries] == ["transactional"]
    assert call(account, "find_suppression", recipient="bob@inbox.test")["entries"] == []
    assert call(account, "list_webhooks") == []
    assert call(account, "list_inbound_domains") == []
    assert call(account, "search_received_mail", subject="x") == []
    assert "could not be found" in call(account, "read_received_message", message_id="x").lower()
    assert {"API key", "Clock"} <= {each["check"] for each in call(account, "check")}


def test_the_command_speaks_on_standard_input_and_output(account: Client) -> None:
    from mcp import Client as Assistant
    from mcp.client.stdio import StdioServerParameters, stdio_client

    root = Path(__file__).parents[3]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "postfinch", "mcp", "--read-only"],
        env={**os.environ},
        cwd=root,
    )

    async def use() -> Any:
        async with Assistant(stdio_client(parameters)) as assistant:
            return await assistant.call_tool("list_templates", {})

    assert not asyncio.run(use()).is_error


def test_what_to_install_is_said(account: Client) -> None:
    code = "import sys; sys.modules['mcp'] = None; from postfinch.commands import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "pip install 'postfinch[mcp]'" in " ".join(done.stderr.split())


def test_help_is_there_without_the_packages(account: Client) -> None:
    assert "--read-only" in run("mcp", "--help")
