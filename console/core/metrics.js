// The reports of the metrics: windows, precisions, and what can be counted.
import { get } from "./api.js";
import { countsOf, withFigures } from "./figures.js";
import { ofSubaccount } from "./service.js";

const HOUR = 3600000;

/** Choice of a window → hours, and the precision of its plot. */
export const WINDOWS = {
  "1h": { label: "Last hour", hours: 1, precision: "5min" },
  "24h": { label: "Last 24 hours", hours: 24, precision: "hour" },
  "7d": { label: "Last 7 days", hours: 168, precision: "day" },
  "30d": { label: "Last 30 days", hours: 720, precision: "day" },
  "90d": { label: "Last 90 days", hours: 2160, precision: "day" },
  "180d": { label: "Last 6 months", hours: 4320, precision: "week" },
};

/** The window whose bounds are in the address. */
export const FREE = "free";

/**
 * The longest window in hours → the precision of its plot. Each is one that the API allows for it.
 */
/** @type {Array<[number, string]>} */
const PRECISIONS = [
  [1, "1min"],
  [6, "5min"],
  [24, "15min"],
  [168, "hour"],
  [4320, "day"],
  [Infinity, "week"],
];
/** Their buckets are those of UTC in any time zone. */
const OF_UTC = ["day", "week", "month"];

/** What a plot can show: counts of the API, and figures that are made of them. */
export const METRICS = {
  count_targeted: "Targeted",
  count_injected: "Injected",
  sent: "Sent",
  count_accepted: "Accepted",
  count_delivered: "Delivered",
  bounced: "Bounced",
  suppressed: "Suppressed",
  count_hard_bounce: "Hard bounces",
  count_soft_bounce: "Soft bounces",
  count_block_bounce: "Blocks",
  count_rejected: "Rejected",
  count_delayed_first: "Delayed at first",
  count_unique_confirmed_opened: "Opened",
  count_rendered: "Opens",
  count_unique_clicked: "Clicked",
  count_clicked: "Clicks",
  count_spam_complaint: "Complaints",
  count_unsubscribe: "Unsubscribed",
};

/** What mail to seed addresses and panels is counted by. Only these counts have a subject. */
export const PLACEMENTS = {
  count_inbox_seed: "Inbox, seeds",
  count_spam_seed: "Spam, seeds",
  count_inbox_panel: "Inbox, panel",
  count_spam_panel: "Spam, panel",
  count_inbox_seed_private: "Inbox, own seeds",
  count_spam_seed_private: "Spam, own seeds",
  count_inbox_seed_virtual: "Inbox, virtual seeds",
  count_spam_seed_virtual: "Spam, virtual seeds",
  count_moved_to_inbox: "Moved to inbox",
  count_moved_to_spam: "Moved to spam",
};

/**
 * Reports by a dimension: path → `[name, key of its value, filter]`; without a filter, a row leads
 * nowhere.
 */
export const GROUPS = {
  domain: ["Recipient domain", "domain", "domains"],
  campaign: ["Campaign", "campaign_id", "campaigns"],
  template: ["Template", "template_id", "templates"],
  "sending-domain": ["Sending domain", "sending_domain", "sending_domains"],
  "mailbox-provider": ["Mailbox provider", "mailbox_provider", "mailbox_providers"],
  "mailbox-provider-region": [
    "Provider region",
    "mailbox_provider_region",
    "mailbox_provider_regions",
  ],
  "ip-pool": ["IP pool", "ip_pool", "ip_pools"],
  "sending-ip": ["Sending IP", "sending_ip", "sending_ips"],
  subaccount: ["Subaccount", "subaccount_id", "subaccounts"],
  "watched-domain": ["Large providers", "watched_domain", "domains"],
  // A filter by subject would leave no other count of the page
  "subject-campaign": ["Subject", "subject_campaign"],
};

/** Reports of reasons: path → `[name, columns]`. The rows are in the order of the first count. */
export const REASONS = {
  "bounce-reason": [
    "Bounce reasons",
    [
      ["Reason", "reason"],
      ["Class", "bounce_class_name"],
      ["Kind", "bounce_category_name"],
      ["Messages", "count_bounce"],
    ],
  ],
  "bounce-classification": [
    "Bounce classes",
    [
      ["Class", "bounce_class_name"],
      ["Meaning", "bounce_class_description"],
      ["Kind", "bounce_category_name"],
      ["Messages", "count_bounce"],
      ["At delivery", "count_inband_bounce"],
      ["Later", "count_outofband_bounce"],
    ],
  ],
  "rejection-reason": [
    "Rejections",
    [
      ["Reason", "reason"],
      ["Kind", "rejection_type"],
      ["Messages", "count_rejected"],
    ],
  ],
  "delay-reason": [
    "Delays",
    [
      ["Reason", "reason"],
      ["Delays", "count_delayed"],
      ["At first", "count_delayed_first"],
    ],
  ],
  "link-name": [
    "Links",
    [
      ["Link", "link_name"],
      ["Clicks", "count_clicked"],
    ],
  ],
  attempt: [
    "Attempts",
    [
      ["Attempt", "attempt"],
      ["Delivered", "count_delivered"],
    ],
  ],
};

/** Reasons that can also be counted for each recipient domain: path + this. */
const OF_DOMAINS = "/domain";
export const DIVISIBLE = ["bounce-reason", "rejection-reason", "delay-reason"];

/**
 * A report of the address: its path, the group or reasons that it shows, and whether it is
 * `divided` by domain.
 */
export function reportOf(text = "") {
  const divided =
    text.endsWith(OF_DOMAINS) && DIVISIBLE.includes(text.slice(0, -OF_DOMAINS.length));
  const by = divided ? text.slice(0, -OF_DOMAINS.length) : text;
  if (!GROUPS[by] && !REASONS[by]) return { path: "domain", by: "domain", divided: false };
  return { path: text, by, divided };
}

export const divide = (by, divided) => (divided ? by + OF_DOMAINS : by);

/**
 * A time as the reports take it: minutes of the time zone. One that browsers do not know is the
 * API's to judge.
 */
export function minutes(time, zone) {
  const format = (timeZone) =>
    new Intl.DateTimeFormat("sv", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
    })
      .format(time)
      .replace(" ", "T");
  try {
    return format(zone);
  } catch {
    return format("UTC");
  }
}

/**
 * The window that the address names: `now` and `before`, as queries, and the `precision` of its
 * plot.
 */
export function windowOf(query, zone, now = Date.now()) {
  const common = { timezone: zone, ...ofSubaccount() };
  const name = query.window === FREE || WINDOWS[query.window] ? query.window : "24h";
  if (name === FREE)
    return {
      name,
      zone,
      ...freeWindow(query.from ?? "", query.to, minutes(now + 60000, zone), common),
    };
  const { hours, precision } = WINDOWS[name];
  const end = Math.ceil((now + 1) / 60000) * 60000;
  const [start, former] = [1, 2].map((back) => end - back * hours * HOUR);
  return {
    name,
    zone,
    precision,
    now: { from: minutes(start, zone), ...common }, // until now: clocks may show it twice
    before: { from: minutes(former, zone), to: minutes(start, zone), ...common },
  };
}

/**
 * A window between two times of clocks, or until now; the one before it is as long by the clocks.
 */
function freeWindow(from, to, current, common) {
  const start = Date.parse(`${from}Z`);
  const length = Date.parse(`${to || current}Z`) - start;
  // Times that are none go as they are: what is wrong with them is the API's to say
  const former = length > 0 ? new Date(start - length).toISOString().slice(0, 16) : from;
  const precision = PRECISIONS.find(([hours]) => length <= hours * HOUR)?.[1];
  return {
    precision,
    now: { from, to, ...common },
    before: { from: former, to: length > 0 ? from : to, ...common },
  };
}

/** The time zone that the points of a plot are in. */
export const zoneOfPlot = (precision, zone) => (OF_UTC.includes(precision) ? "UTC" : zone);

export const sums = (query, signal) =>
  get(
    "api/v1/metrics/deliverability",
    { ...query, metrics: countsOf(Object.keys(METRICS)) },
    { signal },
  ).then((answer) => withFigures(answer.results[0] ?? {}));
export const series = (query, metrics, precision, signal) =>
  get(
    "api/v1/metrics/deliverability/time-series",
    { ...query, metrics: countsOf(metrics), precision },
    { signal },
  ).then((answer) => answer.results.map(withFigures));
