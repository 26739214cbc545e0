<?php
// Verify the signature of a webhook's batch and log its events. Environment: SECRET_FILE and LOG.
// The signature is that of Standard Webhooks: https://www.standardwebhooks.com

$body = file_get_contents('php://input');
$headers = array_change_key_case(getallheaders());
if (!isset($headers['webhook-signature'])) {
    exit; // the test POST, before there is a secret
}
$key = base64_decode(substr(file_get_contents(getenv('SECRET_FILE')), strlen('whsec_')));
$content = "{$headers['webhook-id']}.{$headers['webhook-timestamp']}.$body";
$signature = 'v1,' . base64_encode(hash_hmac('sha256', $content, $key, true));
$matches = array_filter(
    explode(' ', $headers['webhook-signature']),
    fn ($each) => hash_equals($signature, $each),
);
if (!$matches) {
    http_response_code(403);
    exit;
}
foreach (json_decode($body, true) as ['msys' => $element]) {
    foreach ($element as $event) {
        file_put_contents(getenv('LOG'), json_encode($event) . "\n", FILE_APPEND);
    }
}
