// Send with Nodemailer over the API (`nodemailer-sparkpost-transport`): a template, then a message.
// Environment: POSTFINCH_URL, API_KEY, TEMPLATE, TO, and the authority in NODE_EXTRA_CA_CERTS.
import nodemailer from 'nodemailer';
import sparkPostTransport from 'nodemailer-sparkpost-transport';

const { POSTFINCH_URL, API_KEY, TEMPLATE, TO } = process.env;
const transport = nodemailer.createTransport(
  sparkPostTransport({
    sparkPostApiKey: API_KEY,
    endpoint: POSTFINCH_URL,
    campaign_id: 'clients',
    options: { click_tracking: false },
  }),
);
const template = await transport.sendMail({
  content: { template_id: TEMPLATE },
  recipients: [{ address: TO, substitution_data: { name: 'Ann', shop: 'North' } }],
});
const message = await transport.sendMail({
  from: 'Ann <ann@example.test>',
  to: TO,
  cc: 'carl+transport@inbox.test',
  subject: 'Grüße',
  text: 'Hello',
  html: '<p>Hello</p>',
  attachments: [
    { filename: 'notes.txt', contentType: 'text/plain', content: Buffer.from('kept').toString('base64') },
  ],
});
console.log(JSON.stringify({ template, message }));
