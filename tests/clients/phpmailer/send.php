<?php
// Send by SMTP with PHPMailer. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls or implicit),
// API_KEY, AUTHORITY, FROM, TO.
require 'libphp-phpmailer/autoload.php';

use PHPMailer\PHPMailer\PHPMailer;

$mail = new PHPMailer(true);
$mail->isSMTP();
$mail->Host = getenv('SMTP_HOST');
$mail->Port = (int) getenv('SMTP_PORT');
$mail->SMTPSecure = getenv('SMTP_TLS') === 'implicit'
    ? PHPMailer::ENCRYPTION_SMTPS : PHPMailer::ENCRYPTION_STARTTLS;
$mail->SMTPOptions = ['ssl' => ['cafile' => getenv('AUTHORITY')]];
$mail->SMTPAuth = true;
$mail->Username = 'SMTP_Injection';
$mail->Password = getenv('API_KEY');
$mail->CharSet = PHPMailer::CHARSET_UTF8;
$mail->setFrom(getenv('FROM'), 'Ann');
$mail->addAddress(getenv('TO'));
$mail->addCustomHeader('X-SVC-API', '{"campaign_id": "clients"}');
$mail->Subject = 'Grüße';
$mail->isHTML();
$mail->Body = '<p>Hello from PHPMailer</p>';
$mail->AltBody = 'Hello from PHPMailer';
$mail->addStringAttachment('kept', 'notes.txt');
try {
    $mail->send();
} catch (Exception $error) {
    fwrite(STDERR, $error->getMessage() . $mail->getSMTPInstance()->getError()['detail'] . "\n");
    exit(1);
}
