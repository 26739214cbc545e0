"""Check a newsletter before anybody gets it: mail clients show it, and its links lead somewhere.

The site is on this machine, so the configuration of pytest lets the service request it:

    postfinch_settings = "LINK_CHECK_PRIVATE=true"
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

NEWSLETTER = """
<h1>News</h1>
<p style="color: #333333">Our <a href="{site}/lamps">lamps</a> are here.</p>
"""


class Site(BaseHTTPRequestHandler):
    """The pages that the newsletter leads to."""

    def do_HEAD(self):
        self.send_response(200 if self.path == "/lamps" else 404)
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *_):
        """Write no log lines."""


@pytest.fixture
def site():
    """The address of the site, which runs in this process."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def newsletter(site, postfinch):
    """The newsletter as a subscriber gets it."""
    postfinch.send(to="ann@inbox.test", subject="News", html=NEWSLETTER.format(site=site))
    return postfinch.mailbox.wait_for(to="ann@inbox.test")


def test_mail_clients_show_the_newsletter(newsletter):
    check = newsletter.checks.html
    assert check.unsupported < 20
    for warning in check.warnings:
        assert not any("Gmail" in each for each in warning.unsupported_by), warning.example


def test_its_links_lead_somewhere(newsletter, site):
    links = newsletter.checks.links
    assert links.errors == []
    assert f"{site}/lamps" in {each.target for each in links.links}
