"""``postfinch inbound``: domains that mail comes in for, and the mail that they received."""

from __future__ import annotations

import sys
from typing import Annotated
from urllib.parse import quote

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import ask, fail, note, write_json, write_line, write_rows
from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json

app = typer.Typer(help="Receive mail: inbound domains and what came in.", no_args_is_help=True)

DomainArgument = Annotated[str, typer.Argument(help="The domain after the @ of recipients.")]

_NOT_FOUND = 404
_VALID = "valid"


@app.command()
def add(
    domain: DomainArgument,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Post what comes in to this URL.")
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Receive mail for a domain, and show the MX record to publish."""
    api = connect(profile)
    view: Json = api.post("/inbound-domains", {"domain": domain})
    name = view["domain"]
    note(f"{name} is added")
    if webhook:
        _set_webhook(api, view, webhook)
        view = api.get(_path(name))
    if as_json:
        write_json(view)
        return
    if view["mx_status"] != _VALID:
        for each in view["dns_records"]:
            write_line("\t".join((each["type"], each["name"], each["value"])))
        note(f"Publish this record, then: postfinch inbound check {name}")


@app.command()
def webhook(
    domain: DomainArgument,
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Where messages are posted.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete it; messages are stored from then on.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show, set or remove the URL that messages to a domain are posted to, its relay webhook."""
    if url and remove:
        fail("--remove needs no URL", 2)
    api = connect(profile)
    view = api.get(_path(domain))
    if url:
        _set_webhook(api, view, url)
    elif remove:
        _remove_webhook(api, view)
    webhook_id = api.get(_path(domain))["relay_webhook_id"]
    relay_webhook = api.get(f"/relay-webhooks/{webhook_id}") if webhook_id else None
    if as_json:
        write_json(relay_webhook)
    elif relay_webhook and not url:
        write_line(relay_webhook["target"])
    elif not remove and not url:
        note(f"{domain} has no relay webhook: postfinch inbound webhook {domain} URL")


@app.command()
def domains(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """List the inbound domains, the state of their MX records, and where messages are posted."""
    api = connect(profile)
    views = api.get("/inbound-domains")
    if as_json:
        write_json(views)
        return
    targets = {each["id"]: each["target"] for each in api.get("/relay-webhooks")} if views else {}
    rows = [each | {"target": targets.get(each["relay_webhook_id"])} for each in views]
    headings = {
        "domain": "Domain",
        "status": "State",
        "mx_status": "MX record",
        "target": "Posted to",
        "subaccount_id": "Subaccount",
    }
    write_rows(
        rows, headings, as_json=False, empty="There are none yet: postfinch inbound add DOMAIN"
    )


@app.command()
def check(
    domain: DomainArgument, profile: ProfileOption = None, as_json: JsonOption = False
) -> None:
    """Look at the MX records of a domain now; the exit code is 1 unless they are right."""
    view = connect(profile).post(f"{_path(domain)}/verify")
    is_valid = view["mx_status"] == _VALID
    if as_json:
        write_json(view)
    elif is_valid:
        write_line("mx: valid", style="green")
    else:
        for each in view["dns_records"]:
            write_line("\t".join((each["type"], each["name"], each["value"])))
        error = f" ({view['mx_error']})" if view["mx_error"] else ""
        typer.echo(f"MX {view['domain']} is {view['mx_status']}{error}", err=True)
    if not is_valid:
        raise typer.Exit(1)


@app.command()
def remove(
    domain: DomainArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    profile: ProfileOption = None,
) -> None:
    """Receive no more mail for a domain, and delete its relay webhook."""
    api = connect(profile)
    view = api.get(_path(domain))
    ask(f"Refuse all mail to {view['domain']} from now on?", yes=yes)
    _remove_webhook(api, view)
    api.delete(_path(domain))
    note(f"{view['domain']} is removed")


@app.command("list")
def list_messages(
    domain: Annotated[str | None, typer.Option(help="Only mail to this domain.")] = None,
    to: Annotated[str | None, typer.Option(help="Only mail to this address.")] = None,
    sender: Annotated[
        str | None, typer.Option("--from", help="Only mail from this address.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Only mail with these words in the subject.")
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(
            help="Only mail that was posted, forwarded or only stored: webhook, forward or store."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="The most messages to list.", min=1, max=1000)] = 20,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest messages that were received."""
    filters = {
        "domain": domain,
        "recipient": to,
        "sender": sender,
        "subject": subject,
        "action": action,
    }
    rows = connect(profile).get("/inbound-messages", **filters, per_page=limit)
    headings = {
        "id": "Id",
        "received_at": "Received",
        "friendly_from": "From",
        "rcpt_to": "To",
        "subject": "Subject",
        "action": "Action",
    }
    empty = "No message matches." if any(filters.values()) else "No mail has come in yet."
    write_rows(
        rows, headings, as_json=as_json, empty=empty, expendable=("received_at", "friendly_from")
    )


@app.command()
def show(
    message_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the message.")],
    raw: Annotated[
        bool, typer.Option("--raw", help="Write the message as it came in, alone.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show headers, text, attachments and verdicts of a message that was received."""
    api = connect(profile)
    path = f"/inbound-messages/{quote(message_id, safe='')}"
    try:
        if raw:
            sys.stdout.buffer.write(api.content(f"{path}/raw"))
            sys.stdout.buffer.flush()
            return
        message: Json = api.get(path)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        fail(f"there is no message {message_id}: postfinch inbound list", 1)
    if as_json:
        write_json(message)
    else:
        _write_message(message)


def _set_webhook(api: Api, view: Json, url: str) -> None:
    """Have the messages of a domain posted to a URL."""
    domain = view["domain"]
    body = {"name": domain[:64], "target": url, "match": {"protocol": "SMTP", "domain": domain}}
    if webhook_id := view["relay_webhook_id"]:
        api.put(f"/relay-webhooks/{webhook_id}", {"target": url})
    else:
        api.post("/relay-webhooks", body)
    note(f"mail to {domain} is posted to {url}")


def _remove_webhook(api: Api, view: Json) -> None:
    if webhook_id := view["relay_webhook_id"]:
        api.delete(f"/relay-webhooks/{webhook_id}")


def _write_message(message: Json) -> None:
    content = message["content"]
    for field in content["headers"]:
        for name, value in field.items():
            write_line(f"{name}: {' '.join(value.split())}", style="dim")
    if content["text"] is not None:
        write_line("\n" + content["text"].rstrip())
    elif content["html"] is not None:
        write_line("\nThere is no text part; --json has the HTML.", style="dim")
    if message["attachments"]:
        write_line("\nAttachments", style="bold")
    for each in message["attachments"]:
        name = each["name"] or f"attachment {each['number']}"
        write_line(f"  {name} ({each['type']}, {each['size']} bytes)")
    write_line("\nReceived", style="bold")
    write_line(f"  {message['received_at']} from {message['peer_ip']} for {message['rcpt_to']}")
    write_line(f"  {_what_became(message)}")
    if origin := message["in_reply_to"]:
        write_line(f"  answers message {origin['message_id']} to {origin['rcpt_to']}")
    for name, verdict in (message["verdicts"] or {}).items():
        if text := _verdict_text(verdict):
            write_line(f"  {name}: {text}")


def _what_became(message: Json) -> str:
    if message["action"] == "forward":
        return f"forwarded to {message['forward_to']}"
    return "posted to the relay webhook" if message["action"] == "webhook" else "stored"


def _verdict_text(verdict: Json) -> str:
    """Return a verdict in a few words; empty if nothing was checked."""
    if isinstance(verdict, list):  # DKIM: a result for each signature
        return ", ".join(f"{each['result']} ({each['domain']})" for each in verdict) or "none"
    if not verdict:
        return ""
    if "is_spam" in verdict:
        result = "spam" if verdict["is_spam"] else "no spam"
    elif "is_infected" in verdict:
        result = verdict["name"] or "no virus"
    else:
        result = verdict["result"]
    detail = verdict.get("error") or verdict.get("reason")
    return f"{result} ({detail})" if detail else result


def _path(domain: str) -> str:
    return f"/inbound-domains/{quote(domain, safe='')}"
