// The figures that pages show of mail, from the counts of the reports.

/**
 * Figure → the counts that it is made of.
 * @type {Record<string, string[]>}
 */
const COUNTS = {
  sent: ["count_sent", "count_admin_bounce"],
  bounced: ["count_bounce", "count_admin_bounce"],
  suppressed: ["count_admin_bounce"],
};

/**
 * `[name, figure or count, what its share is of]`, in the order in which they are shown.
 * @type {Array<[string, string, string?]>}
 */
export const FIGURES = [
  ["Sent", "sent"],
  ["Accepted", "count_accepted", "sent"],
  ["Bounced", "bounced", "sent"],
  ["Suppressed", "suppressed"],
  ["Opened", "count_unique_confirmed_opened", "count_accepted"],
  ["Clicked", "count_unique_clicked", "count_accepted"],
  ["Complaints", "count_spam_complaint", "count_accepted"],
];

export const nameOfBase = (base) => base.replace("count_", "");

export const isFigure = (key) => key in COUNTS;

/** The counts to ask the API for. */
export const countsOf = (figures) => [
  ...new Set(figures.flatMap((each) => COUNTS[each] ?? [each])),
];

/**
 * A row of a report with its figures. The API counts what was never sent, most of all because it is
 * on the suppression list, as sent and as bounced; here it is `suppressed`, so that what was `sent`
 * is the sum of what was accepted and what `bounced`, at delivery or later.
 */
export function withFigures(row) {
  const suppressed = row.count_admin_bounce ?? 0;
  return {
    ...row,
    suppressed,
    sent: (row.count_sent ?? 0) - suppressed,
    bounced: (row.count_bounce ?? 0) - suppressed,
  };
}
