<?php
// Send a template over the HTTP API without a library, and wait for its events. The webhook that it
// registers calls handler.php. Environment: POSTFINCH_URL, API_KEY, AUTHORITY, TEMPLATE, TO, HOOK (the
// address of handler.php) and SECRET_FILE.

function call(string $method, string $path, ?array $body = null): array
{
    $context = stream_context_create([
        'http' => [
            'method' => $method,
            'header' => [
                'Authorization: ' . getenv('API_KEY'),
                'Content-Type: application/json',
            ],
            'content' => $body === null ? '' : json_encode($body),
            'ignore_errors' => true,
        ],
        'ssl' => ['cafile' => getenv('AUTHORITY')],
    ]);
    $response = file_get_contents(getenv('POSTFINCH_URL') . '/api/v1' . $path, false, $context);
    [, $status] = explode(' ', $http_response_header[0]);
    if ($status >= 300) {
        throw new RuntimeException("$method $path: $status $response");
    }
    return json_decode($response, true)['results'] ?? [];
}

$webhook = call('POST', '/webhooks', [
    'name' => 'PHP',
    'target' => getenv('HOOK'),
    'events' => ['delivery'],
]);
$secret = call('POST', "/webhooks/{$webhook['id']}/signing-secret")['signing_secret'];
file_put_contents(getenv('SECRET_FILE'), $secret);
$transmission = call('POST', '/transmissions', [
    'content' => ['template_id' => getenv('TEMPLATE')],
    'recipients' => [
        [
            'address' => ['email' => getenv('TO'), 'name' => 'Jörg'],
            'substitution_data' => ['name' => 'Jörg', 'shop' => 'Nürnberg'],
        ],
    ],
]);
$query = http_build_query(['transmissions' => $transmission['id'], 'events' => 'delivery']);
$deadline = time() + 60;
do {
    usleep(100_000);
    $events = call('GET', "/events/message?$query");
} while (!$events && time() < $deadline);
echo json_encode(['webhook' => $webhook['id'], 'events' => $events]);
