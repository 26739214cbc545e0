"""Give libraries of others the host and the port that catches mail, and nothing else."""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from tests.clients.mailpit_service import Mailpit
from tests.clients.programs import HERE, require_library, run

_NODEMAILER = """
import nodemailer from "nodemailer";
const transport = nodemailer.createTransport({ host: "localhost", port: process.env.PORT });
await transport.sendMail({ from: "a@shop.test", to: "b@shop.test", text: "Hello" });
"""
_SYMFONY = """
require 'Symfony/Component/Mailer/autoload.php';
$transport = Symfony\\Component\\Mailer\\Transport::fromDsn('smtp://localhost:' . getenv('PORT'));
$email = new Symfony\\Component\\Mime\\Email();
$transport->send($email->from('a@shop.test')->to('b@shop.test')->text('Hello'));
"""
_PHPMAILER = """
require 'libphp-phpmailer/autoload.php';
$mail = new PHPMailer\\PHPMailer\\PHPMailer(true);
$mail->isSMTP();
$mail->Host = 'localhost';
$mail->Port = (int) getenv('PORT');
$mail->setFrom('a@shop.test');
$mail->addAddress('b@shop.test');
$mail->Body = 'Hello';
$mail->send();
"""
_RUBY = """
require 'mail'
mail = Mail.new { from 'a@shop.test'; to 'b@shop.test'; body 'Hello' }
mail.delivery_method :smtp, address: 'localhost', port: ENV['PORT'].to_i
mail.deliver!
"""


class Library(NamedTuple):
    """How to run a program of it, the program, what loads it, and its Debian packages."""

    command: tuple[str, ...]
    program: str
    load: str
    packages: str


LIBRARIES = {
    "nodemailer": Library(("node", "--input-type=module", "-e"), _NODEMAILER, "0", "nodejs"),
    "symfony_mailer": Library(
        ("php", "-r"), _SYMFONY, _SYMFONY.splitlines()[1], "php-cli php-symfony-mailer"
    ),
    "phpmailer": Library(
        ("php", "-r"), _PHPMAILER, _PHPMAILER.splitlines()[1], "php-cli libphp-phpmailer"
    ),
    "ruby_mail": Library(("ruby", "-e"), _RUBY, "require 'mail'", "ruby ruby-mail"),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_sends_with_its_defaults(
    mailpit: Mailpit, request: pytest.FixtureRequest, name: str
) -> None:
    library = LIBRARIES[name]
    require_library(*library.command, library.load, package=library.packages)
    folder = request.getfixturevalue("node_programs") if name == "nodemailer" else HERE
    environ = os.environ | {"PORT": str(mailpit.smtp_port)}
    process = run(*library.command, library.program, env=environ, folder=folder)
    assert process.returncode == 0, process.stdout + process.stderr
    (message,) = mailpit.messages()
    assert message["To"] == [{"Name": "", "Address": "b@shop.test"}]
