// To whom a message of the mailbox went: the envelope has all of them, the header may not.
import { inLetters } from "./international.js";

const ADDRESS = /[^\s<>,;:"()]+@[^\s<>,;:"()]+/g;
const comparable = (address) => (inLetters(address) || address).toLowerCase();

/** The recipients of the envelope. */
export const recipientsOf = (message) => message.to.split(", ").filter(Boolean);

/**
 * The recipients by the field that names them; those that none names are in `bcc`. Whom a field
 * names besides is in `others`: they got a message of their own, or none.
 * @returns {{to: string[], cc: string[], bcc: string[], others: {to: string[], cc: string[]}}}
 */
export function recipientsByField(message) {
  const [to, cc] = ["to", "cc"].map((name) => addressesIn(message.headers, name));
  const recipients = recipientsOf(message);
  const isIn = (field) => (each) => field.has(comparable(each));
  const all = new Set(recipients.map((each) => comparable(each)));
  return {
    others: {
      to: [...to].filter((each) => !all.has(each)),
      cc: [...cc].filter((each) => !all.has(each)),
    },
    to: recipients.filter(isIn(to)),
    cc: recipients.filter((each) => isIn(cc)(each) && !isIn(to)(each)),
    bcc: recipients.filter((each) => !isIn(to)(each) && !isIn(cc)(each)),
  };
}

function addressesIn(headers, name) {
  const values = headers.filter((each) => each.name.toLowerCase() === name);
  return new Set(
    values.flatMap(({ value }) => value.match(ADDRESS) ?? []).map((each) => comparable(each)),
  );
}
