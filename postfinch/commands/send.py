"""``postfinch send``: one transmission, from arguments or as a message of RFC 822."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from postfinch import composing
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line
from postfinch.composing import BadInput
from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.message_events import DELIVERY, wait_for_ends

_MESSAGE, _STORED, _OPTIONS = "Message", "Stored content", "Options of the transmission"
_FILE = "or @ and the name of a file with it"


def send(
    to: Annotated[list[str] | None, typer.Option(help="A recipient; repeat it for more.")] = None,
    sender: Annotated[str | None, typer.Option("--from", help="The From address.")] = None,
    subject: Annotated[str | None, typer.Option(rich_help_panel=_MESSAGE)] = None,
    text: Annotated[
        str | None, typer.Option(help=f"The text part, {_FILE}.", rich_help_panel=_MESSAGE)
    ] = None,
    html: Annotated[
        str | None, typer.Option(help=f"The HTML part, {_FILE}.", rich_help_panel=_MESSAGE)
    ] = None,
    amp_html: Annotated[
        str | None, typer.Option(help=f"The AMP part, {_FILE}.", rich_help_panel=_MESSAGE)
    ] = None,
    cc: Annotated[
        list[str] | None,
        typer.Option(help="A recipient that the header Cc shows.", rich_help_panel=_MESSAGE),
    ] = None,
    bcc: Annotated[
        list[str] | None,
        typer.Option(help="A recipient that no header shows.", rich_help_panel=_MESSAGE),
    ] = None,
    reply_to: Annotated[str | None, typer.Option(rich_help_panel=_MESSAGE)] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="A header, as 'Name: value'.", rich_help_panel=_MESSAGE),
    ] = None,
    attach: Annotated[
        list[Path] | None,
        typer.Option(help="A file to attach; its type is guessed.", rich_help_panel=_MESSAGE),
    ] = None,
    inline: Annotated[
        list[Path] | None,
        typer.Option(
            help="A picture that the HTML shows as cid:NAME, by the name of its file.",
            rich_help_panel=_MESSAGE,
        ),
    ] = None,
    raw: Annotated[
        str | None,
        typer.Option(
            help="A file with a complete message (RFC 822), - for standard input. Its To, Cc and "
            "Bcc are the recipients, unless there is --to.",
            rich_help_panel=_MESSAGE,
        ),
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="The id of a template.", rich_help_panel=_STORED)
    ] = None,
    draft: Annotated[
        bool, typer.Option("--draft", help="Use the template's draft.", rich_help_panel=_STORED)
    ] = False,
    ab_test: Annotated[
        str | None, typer.Option(help="The id of an A/B test.", rich_help_panel=_STORED)
    ] = None,
    list_id: Annotated[
        str | None,
        typer.Option(
            "--recipient-list", help="Send to a stored recipient list.", rich_help_panel=_STORED
        ),
    ] = None,
    data: Annotated[str | None, typer.Option(help=f"Substitution data as JSON, {_FILE}.")] = None,
    metadata: Annotated[str | None, typer.Option(help=f"Metadata as JSON, {_FILE}.")] = None,
    campaign: Annotated[str | None, typer.Option(help="The id of the campaign.")] = None,
    description: Annotated[str | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    return_path: Annotated[
        str | None, typer.Option(help="The address for bounces.", rich_help_panel=_OPTIONS)
    ] = None,
    tracking_domain: Annotated[str | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    open_tracking: Annotated[bool | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    click_tracking: Annotated[bool | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    initial_open: Annotated[bool | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    transactional: Annotated[
        bool | None, typer.Option(rich_help_panel=_OPTIONS, help="Mail that a person asked for.")
    ] = None,
    sandbox: Annotated[
        bool | None, typer.Option(rich_help_panel=_OPTIONS, help="Use the sandbox domain.")
    ] = None,
    skip_suppression: Annotated[
        bool | None,
        typer.Option(rich_help_panel=_OPTIONS, help="Only for enterprise accounts; else ignored."),
    ] = None,
    inline_css: Annotated[bool | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    substitutions: Annotated[
        bool | None, typer.Option(rich_help_panel=_OPTIONS, help="Evaluate {{ }} in the content.")
    ] = None,
    ip_pool: Annotated[str | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    dkim_key: Annotated[str | None, typer.Option(rich_help_panel=_OPTIONS)] = None,
    reply_domain: Annotated[
        str | None,
        typer.Option(rich_help_panel=_OPTIONS, help="The inbound domain that answers go to."),
    ] = None,
    start_time: Annotated[
        str | None,
        typer.Option(
            help="Send later: such as 2026-01-31T09:05:00+00:00.", rich_help_panel=_OPTIONS
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(help="Any text: a second call with it sends nothing and repeats the answer."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until each message is delivered or has failed.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds that --wait takes at most.")] = 60,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a message, and print the id of the transmission."""
    options = {
        "open_tracking": open_tracking,
        "click_tracking": click_tracking,
        "initial_open": initial_open,
        "transactional": transactional,
        "sandbox": sandbox,
        "skip_suppression": skip_suppression,
        "inline_css": inline_css,
        "perform_substitutions": substitutions,
        "ip_pool": ip_pool,
        "dkim_key": dkim_key,
        "reply_domain": reply_domain,
        "start_time": start_time,
    }
    references = {
        "template_id": template,
        "ab_test_id": ab_test,
        "use_draft_template": draft or None,
    }
    fields = {"from": sender, "subject": subject, "reply_to": reply_to}
    try:
        addresses = list(to or [])
        if raw is not None:
            _refuse_beside_raw(
                *fields.values(), *references.values(), text, html, amp_html, cc, bcc, header,
                attach, inline,
            )  # fmt: skip
            content, in_headers = _raw_content(raw)
            addresses = addresses or in_headers
        else:
            if (template or ab_test) and (header or cc):
                raise BadInput("--header and --cc do not go with stored content, which has headers")
            content = fields | references | {
                "text": composing.text_of(text),
                "html": composing.text_of(html),
                "amp_html": composing.text_of(amp_html),
                "headers": _headers(header, cc),
                "attachments": [composing.file_of(path) for path in attach or []],
                "inline_images": [composing.file_of(path) for path in inline or []],
            }  # fmt: skip
        body = {
            "content": composing.present(content),
            "recipients": _recipients(list_id, addresses, cc or [], bcc or []),
            "options": composing.present(options),
            "campaign_id": campaign,
            "description": description,
            "return_path": return_path,
            "tracking_domain": tracking_domain,
            "substitution_data": composing.object_of("--data", data),
            "metadata": composing.object_of("--metadata", metadata),
        }
    except BadInput as error:
        fail(str(error), 2)
    api = connect(profile)
    results = _post(api, composing.present(body), idempotency_key)
    if not (wait and as_json):
        _report(results, as_json=as_json)
    if wait:
        _wait(api, results, timeout, as_json=as_json)
    elif not results["total_accepted_recipients"]:
        raise typer.Exit(1)


def _refuse_beside_raw(*values: Any) -> None:
    if any(value for value in values):
        raise BadInput("--raw is the whole message: only recipients and options go with it")


def _raw_content(raw: str) -> tuple[Json, list[str]]:
    data = sys.stdin.buffer.read() if raw == "-" else composing.read_file(Path(raw))
    source = "the message of standard input" if raw == "-" else raw
    text, addresses = composing.raw_message(data, source)
    return {"email_rfc822": text}, addresses


def _headers(lines: list[str] | None, cc: list[str] | None) -> dict[str, str]:
    headers = composing.headers_of(lines or [])
    return headers | ({"Cc": composing.address_list(cc)} if cc else {})


def _recipients(list_id: str | None, to: list[str], cc: list[str], bcc: list[str]) -> Any:
    if list_id is not None:
        if to or cc or bcc:
            raise BadInput("--recipient-list and single recipients exclude each other")
        return {"list_id": list_id}
    recipients = composing.recipients_of(to, cc, bcc)
    if not recipients:
        raise BadInput("there is no recipient: say --to ADDRESS")
    return recipients


def _post(api: Api, body: Json, key: str | None) -> Json:
    path = "/transmissions"
    answer: Json = api.post_once(path, body, key) if key else api.document("POST", path, body)
    results: Json = answer["results"]
    for each in results.get("rcpt_to_errors", []):
        note(": ".join(filter(None, (each.get("message"), each.get("description")))))
    return results


def _report(results: Json, *, as_json: bool) -> None:
    if as_json:
        write_json(results)
    else:
        typer.echo(results["id"])
        if not results["total_accepted_recipients"]:
            note("no recipient was accepted")


def _wait(api: Api, results: Json, seconds: float, *, as_json: bool) -> NoReturn:
    """Write how each message ended; the exit code is 0 if all were delivered in time."""
    count = results["total_accepted_recipients"]
    ends = wait_for_ends(api, results["id"], count, seconds)
    if as_json:
        write_json(results | {"ends": ends})
    for event in () if as_json else ends:
        reason = event.get("raw_reason") or event.get("reason") or event.get("remote_addr") or ""
        style = "green" if event["type"] == DELIVERY else "red"
        write_line("\t".join((event.get("rcpt_to", ""), event["type"], reason)), style=style)
    if missing := count - len(ends):
        note(f"{missing} of {count} messages neither arrived nor failed in {seconds:g} s")
    is_complete = bool(count) and not missing and all(each["type"] == DELIVERY for each in ends)
    raise typer.Exit(0 if is_complete else 1)
