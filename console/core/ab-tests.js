// What the console knows about A/B tests: their address, their states, and how sure a rate is.
import { localTime, number } from "./format.js";

export const AB_TESTS = "api/v1/ab-test";
export const AB_GRANT = "ab-testing/manage";
export const testPath = (id) => `${AB_TESTS}/${encodeURIComponent(id)}`;
export const draftPath = (id) => `${AB_TESTS}/draft/${encodeURIComponent(id)}`;

export const METRICS = [
  ["count_unique_clicked", "Messages clicked"],
  ["count_unique_confirmed_opened", "Messages opened"],
];
export const MODES = [
  ["bayesian", "Choose a winner"],
  ["learning", "Only measure"],
];
export const SELECTIONS = [
  ["percent", "In percent"],
  ["sample_size", "As numbers of messages"],
];
export const hasEnded = (test) => ["completed", "cancelled"].includes(test.status);

const DAYS_30_MS = 30 * 24 * 3600 * 1000;
const Z = 1.959964; // of 95 percent

/** The templates of a test with what they reached, the default one first. */
export const resultsOf = (test) =>
  [test.default_template, ...(test.variants ?? [])].map((each) => ({
    ...each,
    accepted: each.count_accepted ?? 0,
    engaged: each[test.metric] ?? 0,
  }));

/**
 * The 95 percent interval of a rate by Wilson's score; it holds for few messages and rates near 0
 * as well.
 */
export function wilson(engaged, accepted) {
  if (!accepted) return null;
  const rate = Math.min(1, engaged / accepted);
  const scale = 1 + Z ** 2 / accepted;
  const middle = (rate + Z ** 2 / (2 * accepted)) / scale;
  const half =
    (Z / scale) * Math.sqrt((rate * (1 - rate)) / accepted + Z ** 2 / (4 * accepted ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

export const percent = (rate) => `${number(Math.round(rate * 1000) / 10)} %`;

/** The end that someone chose; without one the API shows 30 days less the wait for engagement. */
export function chosenEnd(test) {
  if (!test?.end_time || hasEnded(test)) return "";
  const latest =
    new Date(test.start_time ?? 0).getTime() +
    DAYS_30_MS -
    (test.engagement_timeout ?? 24) * 3600 * 1000;
  return test.start_time && new Date(test.end_time).getTime() === latest
    ? ""
    : localTime(test.end_time);
}
