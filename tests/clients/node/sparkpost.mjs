// Send a template with the client library `sparkpost`, receive a webhook and read the events.
// It prints what it saw as JSON. Environment: POSTFINCH_URL, API_KEY, TO, and the authority in
// NODE_EXTRA_CA_CERTS.
import { createServer } from 'node:http';
import SparkPost from 'sparkpost';

const { POSTFINCH_URL, API_KEY, TO } = process.env;
const client = new SparkPost(API_KEY, { endpoint: POSTFINCH_URL });

const batches = [];
let notify;
const delivered = new Promise((resolve) => (notify = resolve));
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  response.writeHead(200).end();
  const events = JSON.parse(Buffer.concat(chunks).toString()).map(({ msys }) => msys.message_event);
  batches.push({ id: request.headers['x-messagesystems-batch-id'], events });
  if (events.some((event) => event?.rcpt_to === TO)) notify();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const id = 'from-node';
await client.templates.create({
  id,
  name: 'From Node',
  published: true,
  content: { from: 'ann@example.test', subject: 'Dear {{name}}', text: 'Dear {{name}}' },
});
const { results: preview } = await client.templates.preview(id, { substitution_data: { name: 'Bo' } });
const { results: webhook } = await client.webhooks.create({
  name: 'Node',
  target: `http://127.0.0.1:${server.address().port}/`,
  events: ['delivery'],
});
const { results: sent } = await client.transmissions.send({
  campaign_id: 'clients',
  content: { template_id: id },
  recipients: [{ address: TO, substitution_data: { name: 'Ann' } }],
});
await delivered;
const { results: transmission } = await client.transmissions.get(sent.id);
const { results: events } = await client.events.searchMessage({
  events: ['injection', 'delivery'],
  transmissions: [sent.id],
});
const validation = await client.webhooks.validate(webhook.id, { message: { msys: {} } });
const { results: webhooks } = await client.webhooks.list();
await client.webhooks.delete(webhook.id);
await client.templates.update(id, { name: 'Renamed' });
const { results: template } = await client.templates.get(id);
await client.templates.delete(id);

await client.suppressionList.upsert([{ recipient: TO, type: 'non_transactional' }]);
const { results: suppressions } = await client.suppressionList.get(TO);
await client.suppressionList.delete(TO);
await client.recipientLists.create({ id, recipients: [{ address: TO }] });
const { results: list } = await client.recipientLists.get(id, { show_recipients: true });
await client.recipientLists.delete(id);
const { results: domains } = await client.sendingDomains.list();
const { results: subaccount } = await client.subaccounts.create({ name: 'Node', setup_api_key: false });
const failure = await client.transmissions
  .send({ content: { from: 'x@elsewhere.test', subject: 's', text: 't' }, recipients: [{ address: TO }] })
  .catch((error) => ({ name: error.name, status: error.statusCode, errors: error.errors }));

console.log(
  JSON.stringify({
    preview, sent, transmission, events, batches, validation, webhooks, template, suppressions, list,
    domains, subaccount, failure,
  }),
);
server.close();
