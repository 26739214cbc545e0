<?php
// Send by SMTP with Symfony Mailer, which is Laravel's too. Environment: SMTP_HOST, SMTP_PORT,
// SMTP_TLS (starttls or implicit), API_KEY, AUTHORITY, FROM, TO.
require 'Symfony/Component/Mailer/autoload.php';

use Symfony\Component\Mailer\Mailer;
use Symfony\Component\Mailer\Transport;
use Symfony\Component\Mime\Address;
use Symfony\Component\Mime\Email;

$transport = Transport::fromDsn(sprintf(
    '%s://SMTP_Injection:%s@%s:%s', // pragma: allowlist secret
    getenv('SMTP_TLS') === 'implicit' ? 'smtps' : 'smtp',
    rawurlencode(getenv('API_KEY')),
    getenv('SMTP_HOST'),
    getenv('SMTP_PORT'),
));
// A DSN has no option for it
$transport->getStream()->setStreamOptions(['ssl' => ['cafile' => getenv('AUTHORITY')]]);
$email = (new Email())
    ->from(new Address(getenv('FROM'), 'Ann'))
    ->to(getenv('TO'))
    ->subject('Grüße')
    ->text('Hello from Symfony Mailer')
    ->html('<p>Hello from Symfony Mailer</p>')
    ->attach('kept', 'notes.txt', 'text/plain');
$email->getHeaders()->addTextHeader('X-SVC-API', '{"campaign_id": "clients"}');
(new Mailer($transport))->send($email);
