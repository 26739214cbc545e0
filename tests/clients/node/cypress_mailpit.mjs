// Make the calls of the tests of `cypress-mailpit` without Cypress: what its commands use of
// Cypress is made here on top of fetch. Environment: MAILPIT_URL. The mailbox must be empty.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const { MAILPIT_URL } = process.env;

// Chains of Cypress are promises here
globalThis.Cypress = {
  expose: () => MAILPIT_URL,
  config: () => 4000,
};
globalThis.cy = {
  env: async () => ({}),
  wrap: async (value) => value,
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  request: async ({ method, url, body, qs }) => {
    const address = new URL(url);
    for (const [name, value] of Object.entries(qs ?? {})) address.searchParams.set(name, value);
    const response = await fetch(address, {
      method,
      headers: body ? { 'Content-Type': 'application/json' } : {},
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    // As cy.request does with failOnStatusCode, its default
    if (!response.ok) throw new Error(`${response.status}: ${response.statusText} ${text}`);
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  },
};
const require = createRequire(import.meta.url);
const { MailpitCommands } = require('cypress-mailpit/dist/src/MailpitCommands.js');
const commands = new MailpitCommands();

async function send(options) {
  const { ID } = await commands.mailpitSendMail(options);
  assert.match(ID, /^\w[\w.-]*$/);
  return ID;
}

async function sending() {
  await send();
  assert.equal((await commands.mailpitGetAllMails()).messages_count, 1);
  await assert.rejects(
    commands.mailpitSendMail({ to: [{ Email: '', Name: 'To' }] }),
    /400: Bad Request.*invalid To address/s,
  );
  await send({
    cc: [{ Email: 'custom-cc@example.com', Name: 'Custom CC' }],
    bcc: ['custom-bcc@example.com'],
    replyTo: [{ Email: 'custom-reply@example.com', Name: 'Custom Reply' }],
    tags: ['tag1', 'tag2'],
  });
  const mail = await commands.mailpitGetMail();
  const addresses = [mail.Cc, mail.Bcc, mail.ReplyTo].map((list) => list.map((each) => each.Address));
  assert.deepEqual(addresses, [
    ['custom-cc@example.com'],
    ['custom-bcc@example.com'],
    ['custom-reply@example.com'],
  ]);
  assert.deepEqual(mail.Tags, ['tag1', 'tag2']);
}

async function queries() {
  for (let number = 0; number < 5; number++) await send({ subject: `Paginated ${number}` });
  for (const [start, length] of [
    [0, 2],
    [2, 2],
    [4, 1],
  ]) {
    const page = await commands.mailpitGetAllMails(start, 2);
    assert.deepEqual([page.messages.length, page.total, page.start], [length, 5, start]);
    assert.equal(page.count, length);
  }
  const { messages } = await commands.mailpitGetAllMails();
  const first = messages.find((each) => each.Subject === 'Paginated 0');
  assert.equal((await commands.mailpitGetMail(first.ID)).Subject, 'Paginated 0');
  const bySubject = await commands.mailpitGetEmailsBySubject('Paginated 3');
  assert.deepEqual([bySubject.messages_count, bySubject.total, bySubject.count], [1, 5, 1]);
  await send({ to: [{ Email: 'test@example.com', Name: 'To' }], textBody: 'Searchable' });
  assert.equal((await commands.mailpitGetEmailsByTo('test@example.com')).messages_count, 1);
  const found = await commands.mailpitSearchEmails('Searchable');
  assert.equal(found.messages_count, 1);
  assert.match(found.messages[0].Snippet, /Searchable|hello from mailpit/);
  await commands.mailpitHasEmailsBySearch('subject:Paginated 1');
  await commands.mailpitNotHasEmailsBySearch('subject:Nonexistent');
  await commands.mailpitHasEmailsBySubject('Paginated');
  await commands.mailpitNotHasEmailsBySubject('Not');
  await commands.mailpitHasEmailsByTo('test@example.com');
  await commands.mailpitNotHasEmailsByTo('invalid@example.com');
  const soon = { timeout: 100, interval: 50 };
  await assert.rejects(
    commands.mailpitNotHasEmailsBySubject('Paginated', undefined, undefined, soon),
    /Timed out/,
  );
}

async function contents() {
  await send({
    attachments: [
      { Content: 'SGVsbG8gV29ybGQ=', FileName: 'hello.txt' },
      { Content: 'SGVsbG8gV29ybGQ=', FileName: 'hello2.txt' },
    ],
    to: [
      { Email: 'to@example.com', Name: 'To' },
      { Email: 'text@example.com', Name: 'To' },
    ],
    subject: 'Test',
    textBody: 'Test',
    htmlBody: '<p>Test</p>',
  });
  const mail = await commands.mailpitGetMail();
  assert.equal(await commands.mailpitGetSubject(mail), 'Test');
  assert.equal(await commands.mailpitGetFromAddress(mail), 'from@example.com');
  assert.deepEqual(await commands.mailpitGetRecipientAddress(mail), [
    'to@example.com',
    'text@example.com',
  ]);
  assert.deepEqual(await commands.mailpitGetAttachments(mail), ['hello.txt', 'hello2.txt']);
  // The commands ask for //view
  assert.match(await commands.mailpitGetMailHTMlBody(mail), /<p>Test<\/p>/);
  assert.equal(await commands.mailpitGetMailTextBody(mail), 'Test');
}

async function readStatus() {
  for (let number = 0; number < 3; number++) await send({ subject: `Status ${number}` });
  const states = async () => (await commands.mailpitGetAllMails()).messages.map((each) => each.Read);
  const { messages } = await commands.mailpitGetAllMails();
  assert.deepEqual(await states(), [false, false, false]);
  assert.equal(await commands.mailpitSetStatusAsRead(messages), 'ok');
  assert.deepEqual(await states(), [true, true, true]);
  assert.equal(await commands.mailpitSetStatusAsUnRead(messages[0]), 'ok');
  assert.deepEqual(await states(), [false, true, true]);
  assert.equal(await commands.mailpitSetAllEmailStatusAsRead(), 'ok');
  assert.deepEqual(await states(), [true, true, true]);
  assert.equal(await commands.mailpitSetAllEmailStatusAsUnRead(), 'ok');
  assert.deepEqual(await states(), [false, false, false]);
}

async function deletion() {
  await send({ subject: 'Delete Me', textBody: 'Test' });
  await send({ subject: 'No Delete', textBody: 'Test' });
  await commands.mailpitDeleteEmailsBySearch('subject:Delete Me');
  await commands.mailpitHasEmailsBySubject('No Delete');
  await commands.mailpitNotHasEmailsBySubject('Delete Me');
  await assert.rejects(
    commands.mailpitDeleteEmailsBySearch(''),
    /400: Bad Request.*no search query/s,
  );
}

for (const part of [sending, queries, contents, readStatus, deletion]) {
  await commands.mailpitDeleteAllEmails();
  await part();
}
await commands.mailpitDeleteAllEmails();
console.log('every command works');
