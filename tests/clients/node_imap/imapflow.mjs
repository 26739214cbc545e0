// Read the mailbox by imapflow, and print what it saw as JSON.
import { ImapFlow } from 'imapflow'

const text = async (stream) => {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const client = new ImapFlow({
  host: 'localhost',
  port: Number(process.env.IMAP_PORT),
  secure: false,
  doSTARTTLS: process.env.STARTTLS === 'true',
  auth: { user: 'kim', pass: 'any' },
  logger: false,
})
await client.connect()
const mailbox = await client.mailboxOpen('INBOX')
const messages = []
for await (const each of client.fetch('1:*', {
  uid: true,
  flags: true,
  envelope: true,
  bodyStructure: true,
  size: true,
  internalDate: true,
  source: true,
  headers: ['subject'],
})) {
  messages.push(each)
}
const parts = (node) => [node, ...(node.childNodes ?? []).flatMap(parts)]
const downloads = {}
for (const message of messages) {
  for (const node of parts(message.bodyStructure)) {
    if (node.childNodes) continue
    const part = node.part ?? '1'
    const { content } = await client.download(message.uid, part, { uid: true })
    downloads[`${message.uid}/${part}`] = await text(content)
  }
}
const flagged = await client.messageFlagsAdd('1', ['\\Seen', '\\Flagged'])
const unseen = await client.search({ seen: false }, { uid: true })
const bySubject = await client.search({ header: { subject: 'Parts' } }, { uid: true })
const news = new Promise((resolve) => client.once('exists', resolve))
const idle = client.idle()
process.stderr.write('idle\n')
const { count } = await news
await client.noop()
await idle
const isDeleted = await client.messageDelete('1')
const status = await client.status('INBOX', { messages: true, unseen: true })
const folders = (await client.list()).map((each) => each.path)
await client.logout()
const result = {
  secure: client.secureConnection,
  exists: mailbox.exists,
  messages: messages.map((each) => ({
    uid: each.uid,
    size: each.size,
    sourceSize: each.source.length,
    flags: [...each.flags],
    subject: each.envelope.subject,
    from: each.envelope.from,
    header: each.headers.toString(),
    age: Date.now() - each.internalDate.getTime(),
  })),
  downloads,
  flagged,
  unseen,
  bySubject,
  count,
  isDeleted,
  status: { messages: status.messages, unseen: status.unseen },
  folders,
}
process.stdout.write(JSON.stringify(result))
