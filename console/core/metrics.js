// The reports of the metrics: windows, precisions, and what can be counted.
import { get } from "./api.js";
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

export const METRICS = {
  count_targeted: "Targeted", count_injected: "Sent", count_accepted: "Accepted", count_delivered: "Delivered", count_bounce: "Bounced",
  count_hard_bounce: "Hard bounces", count_soft_bounce: "Soft bounces", count_block_bounce: "Blocks", count_rejected: "Rejected", count_delayed_first: "Delayed at first",
  count_unique_confirmed_opened: "Opened", count_rendered: "Opens", count_unique_clicked: "Clicked", count_clicked: "Clicks",
  count_spam_complaint: "Complaints", count_unsubscribe: "Unsubscribed",
};

/** Reports by a dimension: path → `[name, key of its value, filter]`. */
export const GROUPS = {
  domain: ["Recipient domain", "domain", "domains"],
  campaign: ["Campaign", "campaign_id", "campaigns"],
  template: ["Template", "template_id", "templates"],
  "sending-domain": ["Sending domain", "sending_domain", "sending_domains"],
  "mailbox-provider": ["Mailbox provider", "mailbox_provider", "mailbox_providers"],
  "mailbox-provider-region": ["Provider region", "mailbox_provider_region", "mailbox_provider_regions"],
  "ip-pool": ["IP pool", "ip_pool", "ip_pools"],
  "sending-ip": ["Sending IP", "sending_ip", "sending_ips"],
  subaccount: ["Subaccount", "subaccount_id", "subaccounts"],
};

/** Reports of reasons: path → `[name, columns]`; the last column is the count. */
export const REASONS = {
  "bounce-reason": ["Bounce reasons", [["Reason", "reason"], ["Class", "bounce_class_name"], ["Kind", "bounce_category_name"], ["Messages", "count_bounce"]]],
  "rejection-reason": ["Rejections", [["Reason", "reason"], ["Kind", "rejection_type"], ["Messages", "count_rejected"]]],
  "delay-reason": ["Delays", [["Reason", "reason"], ["Delays", "count_delayed"], ["At first", "count_delayed_first"]]],
  "link-name": ["Links", [["Link", "link_name"], ["Clicks", "count_clicked"]]],
  attempt: ["Attempts", [["Attempt", "attempt"], ["Delivered", "count_delivered"]]],
};

/** A time as the reports take it: minutes of the time zone. */
function minutes(time, zone) {
  const parts = new Intl.DateTimeFormat("sv", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" }).format(time);
  return parts.replace(" ", "T");
}

/** The window of a report as its query; `back` windows earlier. */
export function windowQuery(name, zone, back = 0, now = Date.now()) {
  const { hours } = WINDOWS[name];
  const length = hours * HOUR;
  const end = Math.ceil((now + 1) / 60000) * 60000 - back * length;
  return { from: minutes(end - length, zone), to: minutes(end, zone), timezone: zone, ...ofSubaccount() };
}

export const sums = (query, signal) => get("api/v1/metrics/deliverability", { ...query, metrics: Object.keys(METRICS) }, { signal }).then((answer) => answer.results[0] ?? {});
export const series = (query, metrics, precision, signal) => get("api/v1/metrics/deliverability/time-series", { ...query, metrics, precision }, { signal }).then((answer) => answer.results);
