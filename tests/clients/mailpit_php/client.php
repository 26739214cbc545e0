<?php
// Make the calls of the PHP clients `libresign/mailpit-client` and `koehnlein/codeception-email-mailpit`
// (of Packagist), and print what they read. Environment: MAILPIT_URL. The mailbox must be empty but for
// three messages.

function call(string $method, string $path, ?array $body = null): array
{
    $context = stream_context_create([
        'http' => [
            'method' => $method,
            'header' => $body === null ? [] : ['Content-Type: application/json'],
            'content' => $body === null ? '' : json_encode($body),
            'ignore_errors' => true,
        ],
    ]);
    $response = file_get_contents(getenv('MAILPIT_URL') . $path, false, $context);
    [, $status] = explode(' ', $http_response_header[0]);
    return [(int) $status, $response];
}

function json(string $path): mixed
{
    [$status, $response] = call('GET', $path);
    if ($status !== 200) {
        throw new RuntimeException("$path: $status $response");
    }
    return json_decode($response, true, flags: JSON_THROW_ON_ERROR);
}

// findAllMessages, in pages of two
$messages = [];
$start = 0;
do {
    $page = json("/api/v1/messages?limit=2&start=$start");
    foreach ($page['messages'] as $row) {
        $message = json("/api/v1/message/{$row['ID']}");
        $message['Headers'] = json("/api/v1/message/{$row['ID']}/headers");
        $message['AttachmentsData'] = [];
        foreach ($message['Attachments'] as $part) {
            [, $message['AttachmentsData'][$part['PartID']]] = call(
                'GET',
                "/api/v1/message/{$row['ID']}/part/{$part['PartID']}",
            );
        }
        $messages[] = $message;
    }
    $start += 2;
} while ($start < $page['total']);

// The order that fetchEmails of Codeception's module makes, newest first
$rows = json('/api/v1/messages')['messages'];
usort($rows, fn($one, $other) => strtotime($one['Created']) > strtotime($other['Created']) ? -1 : 1);
$inbox = array_filter($rows, fn($row) => in_array('bo@example.test', array_column($row['To'] ?? [], 'Address')));

[$missing] = call('GET', '/api/v1/message/no-such-message');
[$released] = call('POST', "/api/v1/message/{$rows[0]['ID']}/release", ['To' => ['ann@example.test']]);
call('DELETE', '/api/v1/messages', ['IDs' => [$rows[0]['ID']]]);
$left = json('/api/v1/messages?limit=1&start=0')['total'];
call('DELETE', '/api/v1/messages');
$end = json('/api/v1/messages?limit=1&start=0')['total'];
echo json_encode([
    'messages' => $messages,
    'inbox' => array_values(array_column($inbox, 'Subject')),
    'missing' => $missing,
    'released' => $released,
    'left' => $left,
    'end' => $end,
]);
