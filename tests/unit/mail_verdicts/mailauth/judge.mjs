// Judges messages with mailauth: reads a JSON list of cases from standard input, writes the results
import { authenticate } from 'mailauth';

const text = (await process.stdin.toArray()).join('');
const { cases, zone } = JSON.parse(text);

const resolver = async (name, type) => {
  const values = (zone[name.toLowerCase()] ?? {})[type];
  if (!values) {
    throw Object.assign(new Error(`no ${type} of ${name}`), { code: 'ENOTFOUND' });
  }
  return type === 'TXT' ? values.map((value) => [value]) : values;
};

const results = [];
for (const { message, ip, helo, sender } of cases) {
  const { dkim, spf, dmarc, arc } = await authenticate(Buffer.from(message, 'base64'), {
    ip,
    helo,
    sender,
    mta: 'mx.in.test',
    resolver,
    trustReceived: false,
  });
  results.push({
    dkim: dkim.results.map((result) => result.status.result),
    spf: spf ? spf.status.result : null,
    dmarc: dmarc ? dmarc.status.result : null,
    arc: arc ? arc.status.result : null,
  });
}
console.log(JSON.stringify(results));
