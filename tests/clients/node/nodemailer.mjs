// Send by SMTP with Nodemailer. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls or implicit),
// API_KEY, FROM, TO, and the authority in NODE_EXTRA_CA_CERTS.
import nodemailer from 'nodemailer';

const { SMTP_HOST, SMTP_PORT, SMTP_TLS, API_KEY, FROM, TO } = process.env;
const transport = nodemailer.createTransport({
  host: SMTP_HOST,
  port: Number(SMTP_PORT),
  secure: SMTP_TLS === 'implicit',
  requireTLS: true,
  auth: { user: 'SMTP_Injection', pass: API_KEY },
});
const sent = await transport.sendMail({
  from: `Ann <${FROM}>`,
  to: TO,
  subject: 'Grüße',
  text: 'Hello from Nodemailer',
  html: '<p>Hello from Nodemailer</p>',
  attachments: [{ filename: 'notes.txt', content: 'kept' }],
  headers: { 'X-SVC-API': { prepared: true, value: '{"campaign_id": "clients"}' } },
});
console.log(sent.response);
