// Make the calls of the tests of `mailpit-api`, and compare each answer with what those tests expect:
// every field of a message, and no other one. Version 1 of the library also listens at the WebSocket.
// Environment: MAILPIT_URL. The mailbox must be empty, chaos on, and mail released to example.test.
import assert from 'node:assert/strict';
import { MailpitClient } from 'mailpit-api';
import { MailpitClient as EarlierClient } from 'mailpit-api-1';

const { MAILPIT_URL } = process.env;
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const HTML = `<div style="text-align:center"><p>Mailpit is <b>awesome</b>!</p>
      <p>This is a test email with an inline image: <img src="cid:test-image" /></p></div>
      <p><a href="http://127.0.0.1:9/">Example Link</a></p>`;
const REQUEST = {
  From: { Email: 'sender@example.test', Name: 'Sender Name' },
  To: [{ Email: 'recipient@example.test', Name: 'Recipient Name' }],
  Cc: [{ Email: 'cc@example.test', Name: 'Carbon Name' }],
  Bcc: ['bcc@example.test'],
  ReplyTo: [{ Email: 'noreply@example.test', Name: 'No Reply' }],
  Subject: 'Test Email with Attachment',
  Text: 'This is a test email with an attachment.',
  HTML,
  Headers: {
    'List-Unsubscribe': '<mailto:unsubscribe@example.test>, <https://example.test/unsubscribe>',
  },
  Attachments: [
    { Content: PIXEL, Filename: 'test.png' },
    { Content: PIXEL, Filename: 'test.png', ContentID: 'inline-image', ContentType: 'image/png' },
  ],
};

// What a field may be: one of these types, a list of one form, or an object with exactly these fields
const ADDRESS = { Address: String, Name: String };
const ROW = {
  Attachments: Number,
  Bcc: [ADDRESS],
  Cc: [ADDRESS],
  Created: String,
  From: ADDRESS,
  ID: String,
  MessageID: String,
  Read: Boolean,
  ReplyTo: [ADDRESS],
  Size: Number,
  Snippet: String,
  Subject: String,
  Tags: Array,
  To: [ADDRESS],
  Username: String,
};
const LIST = {
  messages: [ROW],
  messages_count: Number,
  messages_unread: Number,
  start: Number,
  tags: Array,
  total: Number,
  unread: Number,
  count: Number,
};
const STATS = { Type: 'stats', Data: { Total: Number, Unread: Number, Version: String } };
const PART = {
  ContentID: String,
  ContentType: String,
  FileName: String,
  PartID: String,
  Size: Number,
  Checksums: { MD5: String, SHA1: String, SHA256: String },
};
const MESSAGE = {
  Attachments: [PART],
  Bcc: [ADDRESS],
  Cc: [ADDRESS],
  Date: String,
  From: ADDRESS,
  HTML: String,
  ID: String,
  Inline: [PART],
  ListUnsubscribe: { Errors: String, Header: String, HeaderPost: String, Links: Array },
  MessageID: String,
  ReplyTo: [ADDRESS],
  ReturnPath: String,
  Size: Number,
  Subject: String,
  Tags: Array,
  Text: String,
  To: [ADDRESS],
  Username: String,
};
const INFO = {
  Database: String,
  DatabaseSize: Number,
  LatestVersion: String,
  Messages: Number,
  RuntimeStats: {
    Memory: Number,
    MessagesDeleted: Number,
    SMTPAccepted: Number,
    SMTPAcceptedSize: Number,
    SMTPIgnored: Number,
    SMTPRejected: Number,
    Uptime: Number,
  },
  Tags: Object,
  Unread: Number,
  Version: String,
};
const CONFIGURATION = {
  ChaosEnabled: true,
  DuplicatesIgnored: Boolean,
  HideDeleteAllButton: Boolean,
  Label: String,
  MessageRelay: {
    AllowedRecipients: String,
    BlockedRecipients: String,
    Enabled: true,
    OverrideFrom: String,
    PreserveMessageIDs: Boolean,
    RecipientAllowlist: String,
    ReturnPath: String,
    SMTPServer: String,
  },
  SpamAssassin: Boolean,
};
const HEADERS = Object.fromEntries(
  [
    ...['Bcc', 'Cc', 'Content-Type', 'Date', 'From', 'List-Unsubscribe', 'Message-Id'],
    ...['Mime-Version', 'Reply-To', 'Return-Path', 'Subject', 'To'],
  ].map((name) => [name, [String]]),
);
const HTML_CHECK = {
  Platforms: Object,
  Total: { Nodes: Number, Partial: Number, Supported: Number, Tests: Number, Unsupported: Number },
  Warnings: [
    {
      Category: String,
      Description: String,
      Keywords: String,
      NotesByNumber: Object,
      Results: [
        {
          Family: String,
          Name: String,
          NoteNumber: String,
          Platform: String,
          Support: String,
          Version: String,
        },
      ],
      Score: { Found: Number, Partial: Number, Supported: Number, Unsupported: Number },
      Slug: String,
      Tags: Array,
      Title: String,
      URL: String,
    },
  ],
};
const LINK_CHECK = { Errors: Number, Links: [{ Status: String, StatusCode: Number, URL: String }] };
const TRIGGERS = {
  Authentication: { ErrorCode: 451, Probability: 5 },
  Recipient: { ErrorCode: 452, Probability: 10 },
  Sender: { ErrorCode: 453, Probability: 15 },
};

function check(value, form, path) {
  if ([String, Number, Boolean].includes(form)) {
    assert.equal(typeof value, form.name.toLowerCase(), `${path} is ${JSON.stringify(value)}`);
  } else if (form === Array) {
    assert.ok(Array.isArray(value), `${path} is ${JSON.stringify(value)}`);
  } else if (form === Object) {
    assert.ok(value && value.constructor === Object, `${path} is ${JSON.stringify(value)}`);
  } else if (Array.isArray(form)) {
    assert.ok(Array.isArray(value) && value.length, `${path} is ${JSON.stringify(value)}`);
    value.forEach((each, index) => check(each, form[0], `${path}[${index}]`));
  } else if (form && form.constructor === Object) {
    assert.deepEqual(Object.keys(value).sort(), Object.keys(form).sort(), path);
    for (const name of Object.keys(form)) check(value[name], form[name], `${path}.${name}`);
  } else {
    assert.deepEqual(value, form, path);
  }
}

// What the later version, which has no WebSocket, waits for
const silence = { waitForEvent: async () => undefined, disconnect: () => undefined };

async function sendAndRead(client, events, isEarlier) {
  const [fresh, stats] = [events.waitForEvent('new'), events.waitForEvent('stats')];
  const answer = await client.sendMessage(REQUEST);
  check(answer, { ID: String }, 'send');
  if (isEarlier) {
    check(await fresh, { Type: 'new', Data: { ...ROW, ID: answer.ID } }, 'new');
    check(await stats, STATS, 'stats');
  }
  check(await client.getInfo(), INFO, 'info');
  check(await client.getConfiguration(), CONFIGURATION, 'webui');
  for (const id of [undefined, answer.ID]) {
    check(await client.getMessageSummary(id), { ...MESSAGE, ID: answer.ID }, 'message');
    check(await client.getMessageHeaders(id), HEADERS, 'headers');
    assert.match(await client.getMessageSource(id), /^Subject: Test Email with Attachment\r$/m);
    check(await client.htmlCheck(id), HTML_CHECK, 'html-check');
    check(await client.linkCheck(id, Boolean(id)), LINK_CHECK, 'link-check');
    assert.equal(await client.renderMessageText(id), REQUEST.Text);
  }
  assert.ok((await client.renderMessageHTML()).includes(HTML));
  const embedded = await client.renderMessageHTML(answer.ID, 1);
  assert.ok(embedded.includes('target="_blank" rel="noreferrer noopener"') && !embedded.includes(HTML));
  return answer.ID;
}

async function readParts(client, id, isEarlier) {
  const message = await client.getMessageSummary(id);
  assert.equal(message.Text, REQUEST.Text);
  assert.equal(message.HTML.replaceAll('\r', ''), HTML);
  assert.deepEqual(
    [message.From, message.Bcc[0].Address, message.ReturnPath],
    [{ Name: 'Sender Name', Address: 'sender@example.test' }, 'bcc@example.test', 'sender@example.test'],
  );
  assert.deepEqual(message.ListUnsubscribe.Links, [
    'mailto:unsubscribe@example.test',
    'https://example.test/unsubscribe',
  ]);
  const { PartID } = message.Attachments[0];
  const file = await client.getMessageAttachment(id, PartID);
  const bytes = Buffer.from(isEarlier ? file.data : await file.arrayBuffer());
  assert.equal(bytes.toString('base64'), PIXEL);
  assert.equal(isEarlier ? file.contentType : file.type, 'image/png');
  const thumbnail = await client.getAttachmentThumbnail(id, PartID);
  assert.equal(isEarlier ? thumbnail.contentType : thumbnail.type, 'image/jpeg');
}

async function markAndTag(client, events, id, isEarlier) {
  for (const list of [await client.listMessages(), await client.listMessages(0, 10)])
    check(list, LIST, 'messages');
  const [marked, stats] = [events.waitForEvent('update'), events.waitForEvent('stats')];
  assert.equal(await client.setReadStatus({ IDs: [id], Read: false }), 'ok');
  if (isEarlier) {
    check(await marked, { Type: 'update', Data: { ID: id, Read: false } }, 'update');
    check(await stats, STATS, 'stats');
  }
  const query = `subject:${REQUEST.Subject}`;
  check(await client.searchMessages({ query, start: 0, limit: 10 }), LIST, 'search');
  const tagged = events.waitForEvent('update');
  assert.equal(await client.setTags({ IDs: [id], Tags: ['test-tag'] }), 'ok');
  if (isEarlier) {
    check(await tagged, { Type: 'update', Data: { ID: id, Tags: ['test-tag'] } }, 'update');
  }
  assert.equal(await client.renameTag('test-tag', 'renamed tag'), 'ok');
  assert.deepEqual(await client.getTags(), ['renamed tag']);
  assert.deepEqual((await client.searchMessages({ query: 'tag:"renamed tag"' })).messages_count, 1);
  assert.equal(await client.deleteTag('renamed tag'), 'ok');
  assert.deepEqual(await client.getTags(), []);
}

async function deleteInThreeWays(client, events, isEarlier) {
  let [gone, stats] = [events.waitForEvent('delete'), events.waitForEvent('stats')];
  const query = `subject:${REQUEST.Subject}`;
  assert.equal(await client.deleteMessagesBySearch({ query }), 'ok');
  if (isEarlier) {
    check(await gone, { Type: 'delete', Data: { ID: String } }, 'delete');
    check(await stats, STATS, 'stats');
  }
  const { ID } = await client.sendMessage(REQUEST);
  gone = events.waitForEvent('delete');
  assert.equal(await client.deleteMessages({ IDs: [ID] }), 'ok');
  if (isEarlier) check(await gone, { Type: 'delete', Data: { ID } }, 'delete');
  await client.sendMessage(REQUEST);
  const truncated = events.waitForEvent('truncate');
  assert.equal(await client.deleteMessages(), 'ok');
  if (isEarlier) check(await truncated, { Type: 'truncate', Data: null }, 'truncate');
  const list = await client.listMessages();
  assert.deepEqual([list.total, list.unread, list.messages], [0, 0, []]);
}

for (const [Client, isEarlier] of [
  [EarlierClient, true],
  [MailpitClient, false],
]) {
  const client = new Client(MAILPIT_URL);
  const events = isEarlier ? client : silence;
  if (isEarlier) {
    client.connectWebSocket();
    await new Promise((resolve) => client.webSocket.addEventListener('open', resolve));
  }
  const id = await sendAndRead(client, events, isEarlier);
  await readParts(client, id, isEarlier);
  assert.equal(await client.releaseMessage(id, { To: ['user1@example.test'] }), 'ok');
  await assert.rejects(client.releaseMessage(id, { To: ['user1@other.test'] }), /400/);
  await markAndTag(client, events, id, isEarlier);
  assert.deepEqual(await client.setChaosTriggers(TRIGGERS), TRIGGERS);
  assert.deepEqual(await client.getChaosTriggers(), TRIGGERS);
  const off = await client.setChaosTriggers();
  assert.deepEqual([off.Sender.Probability, off.Recipient.Probability], [0, 0]);
  await deleteInThreeWays(client, events, isEarlier);
  await assert.rejects(client.getMessageSummary('no-such-message'), /404/);
  events.disconnect();
}
console.log('every answer is as expected');
