"""Mail appears as it arrives, is searched, read and deleted; hostile mail does nothing."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.browser.console import Console
from tests.browser.hostile_mail import HOSTILE, REPORTS, does_nothing
from tests.journey.service import Service, eventually

CONTENT = {"from": "hello@example.test", "subject": "Hello", "text": "Hello"}
_LISTEN = """() => {
  window.types = [];
  const stream = new EventSource("../local/stream");
  stream.addEventListener("event", ({ data }) => window.types.push(JSON.parse(data).type));
  return new Promise((done) => { stream.onopen = () => done(); });
}"""
GRANTS = ["transmissions/modify", "message_events/view"]


def test_a_message_appears_and_its_events_follow(console: Console, service: Service) -> None:
    page = console.open("mailbox")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    service.send("click@live.example", subject="Just now", html='<a href="https://a.example">A</a>')
    page.get_by_role("link", name="Unread: Just now, to click@live.example").click()
    expect(page.get_by_role("heading", name="Just now")).to_be_visible()
    expect(page.frame_locator("iframe").get_by_role("link", name="A")).to_be_visible()
    expect(
        page.get_by_role("link", name="Just now, to click@live.example", exact=True)
    ).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    timeline = page.get_by_role("tabpanel")
    for name in ("Sent", "Delivered", "Clicked"):
        expect(timeline.get_by_role("link", name=name, exact=True)).to_be_visible()


def test_mail_is_found_read_by_keyboard_and_deleted(console: Console, service: Service) -> None:
    for name in ("one", "two", "three"):
        service.send(f"{name}@search.example", subject=f"Number {name}")
    eventually(lambda: len(service.mailbox(to="*@search.example")) == 3)
    page = console.open("mailbox")
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("to:*@search.example")
    expect(page.get_by_text("3 found")).to_be_visible()
    page.locator(".pane-title").click()
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    second = service.mailbox(to="*@search.example")[1]
    expect(page.get_by_role("heading", name=second["subject"])).to_be_visible()
    page.keyboard.press("#")
    expect(page.get_by_text("2 found")).to_be_visible()
    assert second["id"] not in {each["id"] for each in service.mailbox(to="*@search.example")}
    page.get_by_label("Search mail").fill("to:nobody@nowhere.example")
    expect(page.get_by_role("heading", name="No message matches")).to_be_visible()


def test_hostile_mail_does_nothing(
    open_console: Callable[..., Console], service: Service, visits: tuple[str, list[str]]
) -> None:
    url, paths = visits
    html = HOSTILE.format(url=url)
    service.send("victim@hostile.example", subject="Hostile", html=html)
    message = eventually(lambda: service.mailbox(to="victim@hostile.example"))[0]
    console = open_console()
    console.expected = REPORTS
    page = console.open(f"mailbox/{message['id']}")
    # What covers the mail's own window covers nothing of the console.
    page.get_by_role("tab", name="Source").click()
    page.get_by_role("tab", name="HTML").click()
    does_nothing(console, page.frame_locator("iframe"), paths)


def test_the_amp_part_of_a_message_is_shown_and_does_nothing(
    open_console: Callable[..., Console], service: Service, visits: tuple[str, list[str]]
) -> None:
    url, paths = visits
    amp = "<!doctype html>" + HOSTILE.format(url=url).replace("<html>", "<html amp4email>", 1)
    service.send("victim@amp.example", subject="AMP", html="<p>Plain</p>", amp_html=amp)
    message = eventually(lambda: service.mailbox(to="victim@amp.example"))[0]
    console = open_console()
    console.expected = REPORTS
    page = console.open(f"mailbox/{message['id']}")
    expect(page.frame_locator("iframe").get_by_text("Plain")).to_be_visible()
    page.get_by_role("tab", name="AMP").click()
    assert console.violations() == []
    does_nothing(console, page.frame_locator("iframe"), paths)


def test_a_subaccount_deletes_and_marks_only_its_own_mail(fresh_console: Console) -> None:
    service = fresh_console.service
    body = {"name": "Bakery", "setup_api_key": True, "key_label": "Shop", "key_grants": GRANTS}
    response = service.request("POST", "/api/v1/subaccounts", body)
    assert response.status == 200, response.body
    own = {"recipients": [{"address": "anna@own.example"}], "content": CONTENT}
    response = service.request(
        "POST", "/api/v1/transmissions", own, key=response.json["results"]["key"]
    )
    assert response.status == 200, response.body
    service.send("other@office.example", "third@office.example")
    eventually(lambda: len(service.mailbox()) == 3)
    fresh_console.page.reload()  # the subaccounts are read once
    page = fresh_console.open("mailbox")
    page.get_by_label("Act for").select_option("Bakery")
    expect(page.get_by_text("1 found")).to_be_visible()
    page.get_by_role("button", name="Mark all as read").click()
    expect(page.get_by_role("button", name="Mark all as read")).to_have_count(0)
    assert len(service.mailbox(q="is:unread")) == 2
    page.get_by_role("button", name="Delete all").click()
    question = page.get_by_role("dialog", name="Delete all mail shown?")
    expect(question).to_contain_text("1 message of Bakery is deleted. Other mail stays.")
    question.get_by_role("button", name="Delete all").click()
    expect(page.get_by_role("heading", name="No mail yet")).to_be_visible()
    assert {each["to"] for each in service.mailbox()} == {
        "other@office.example",
        "third@office.example",
    }
    # A search narrows it as well
    page.get_by_label("Act for").select_option("Whole account")
    page.get_by_label("Search mail").fill("to:third")
    expect(page.get_by_text("1 found")).to_be_visible()
    page.get_by_role("button", name="Delete all").click()
    question.get_by_role("button", name="Delete all").click()
    expect(page.get_by_role("heading", name="No message matches")).to_be_visible()
    assert [each["to"] for each in service.mailbox()] == ["other@office.example"]


def test_checks_show_which_clients_do_not_support_what_is_used(
    console: Console, service: Service
) -> None:
    html = '<p style="border-radius: 4px; float: left">A <a href="http://127.0.0.1/">link</a></p>'
    html += "<video></video>"
    service.send("checked@support.example", html=html)
    service.send("plain@support.example", html="<b>Plain</b>")
    eventually(lambda: len(service.mailbox(to="*@support.example")) == 2)
    message, plain = (
        service.mailbox(to=f"{name}@support.example")[0]["id"] for name in ("checked", "plain")
    )
    addresses: list[str] = []
    console.page.on("request", lambda request: addresses.append(request.url))
    console.expected = ("status of 409",)
    page = console.open(f"mailbox/{message}")
    page.get_by_role("tab", name="Checks").click()
    row = page.get_by_role("row").filter(has_text="border-radius: 4px")
    expect(row.get_by_role("cell").first).to_contain_text("Orange (Android, web, iOS)")
    expect(row.get_by_role("cell").last).to_contain_text("Outlook (Windows")
    link = row.get_by_role("link", name="border-radius at caniemail.com")
    page_of_feature = "https://www.caniemail.com/features/css-border-radius/"
    expect(link).to_have_attribute("href", page_of_feature)
    video = page.get_by_role("row").filter(has_text="<video> element")
    video.get_by_text("11 notes").click()
    expect(video.get_by_text("Requires the controls attribute to play")).to_be_visible()
    # Whatever asks others is asked on demand; a private address is not requested
    assert not [each for each in addresses if each.endswith(("/link-check", "/spam-check"))]
    page.get_by_role("button", name="Check links").click()
    expect(page.get_by_text("1 of 3 links with errors.")).to_be_visible()
    links = page.get_by_role("list", name="Links by status")
    expect(links.get_by_role("listitem").first).to_contain_text("451")
    page.get_by_role("button", name="Judge the message").click()
    expect(page.get_by_text("No spam filter is set")).to_be_visible()
    assert console.violations() == []
    console.open(f"mailbox/{plain}?tab=checks")
    expect(page.get_by_role("heading", name="Every client shows it")).to_be_visible()
    assert console.violations() == []
    assert not [each for each in addresses if "caniemail.com" in each]


def test_an_event_that_comes_before_the_answer_is_in_the_timeline(
    console: Console, service: Service
) -> None:
    service.send("early@live.example", html='<a href="https://a.example">A</a>')
    message = eventually(lambda: service.mailbox(to="early@live.example"))[0]["id"]
    eventually(lambda: service.events(recipients="early@live.example", events="delivery"))
    page = console.open(f"mailbox/{message}")
    page.evaluate(_LISTEN)

    def answer_late(route: Route) -> None:
        response = route.fetch()
        service.request("POST", f"/local/mailbox/{message}/actions", {"action": "click"})
        eventually(lambda: page.evaluate("types.includes('click')"))
        route.fulfill(response=response)

    page.route("**/api/v1/events/message?messages=*", answer_late)
    page.get_by_role("tab", name="Timeline").click()
    timeline = page.get_by_role("tabpanel")
    for name in ("Delivered", "Clicked"):
        expect(timeline.get_by_role("link", name=name, exact=True)).to_be_visible()
