// Store a template, send it, and wait for the delivery event.
const url = process.env.POSTFINCH_URL ?? 'http://localhost:8080';
const key = process.env.API_KEY;
if (!key) throw new Error('set API_KEY to the key that the start prints');

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

const id = `node-example-${Date.now()}`;
await call('POST', '/api/v1/templates', {
  id,
  name: 'An order',
  published: true,
  content: {
    from: 'shop@example.test',
    subject: 'Your order {{number}}',
    text: '{{each items}}- {{loop_var.name}}: {{loop_var.price}}\n{{end}}',
  },
});

const { results: transmission } = await call('POST', '/api/v1/transmissions', {
  recipients: [
    {
      address: 'ann@inbox.test',
      substitution_data: { number: 7, items: [{ name: 'Tea', price: '4.20' }, { name: 'Cup', price: '9.00' }] },
    },
  ],
  content: { template_id: id },
});
console.log('accepted:', transmission.id);

const deadline = Date.now() + 20_000;
for (;;) {
  const query = new URLSearchParams({ transmissions: transmission.id, events: 'delivery' });
  const { results: events } = await call('GET', `/api/v1/events/message?${query}`);
  if (events.length) {
    console.log('delivered:', events[0].rcpt_to, events[0].subject);
    break;
  }
  if (Date.now() > deadline) throw new Error('the delivery event did not come in time');
  await new Promise((resolve) => setTimeout(resolve, 200));
}
