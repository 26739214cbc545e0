// Register a webhook with a signing secret, send a message, and verify the batch that arrives.
// The signature is that of Standard Webhooks: https://www.standardwebhooks.com
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const url = process.env.POSTFINCH_URL ?? 'http://localhost:8080';
const key = process.env.API_KEY;
if (!key) throw new Error('set API_KEY to the key that the start prints');
let secret = '';

async function call(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: key, 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

function isGenuine(headers, body) {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64')).update(content).digest();
  return (headers['webhook-signature'] ?? '').split(' ').some((signature) => {
    const actual = Buffer.from(signature.replace('v1,', ''), 'base64');
    return actual.length === expected.length && timingSafeEqual(actual, expected);
  });
}

let received;
const firstBatch = new Promise((resolve) => (received = resolve));
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  response.writeHead(200).end();
  if (!secret) return; // the test POST, before there is a secret
  if (!isGenuine(request.headers, body)) throw new Error('the signature is wrong');
  received(JSON.parse(body));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const { results: webhook } = await call('POST', '/api/v1/webhooks', {
  name: 'Node example',
  target: `http://127.0.0.1:${server.address().port}/events`,
  events: ['delivery'],
});
const { results } = await call('POST', `/api/v1/webhooks/${webhook.id}/signing-secret`);
secret = results.signing_secret;

await call('POST', '/api/v1/transmissions', {
  recipients: [{ address: 'ann@inbox.test' }],
  content: { from: 'hello@example.test', subject: 'Hello', text: 'Hello' },
});

const patience = setTimeout(() => {
  console.error('no batch came in time');
  process.exit(1);
}, 20_000);
const batch = await firstBatch;
clearTimeout(patience);
console.log('verified a batch of', batch.length, 'event(s):', JSON.stringify(batch[0]).slice(0, 120));
await call('DELETE', `/api/v1/webhooks/${webhook.id}`);
server.close();
