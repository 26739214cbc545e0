// The pages, in the order of the navigation. A page is a module whose default export is a
// component; it is loaded when it is first opened. PAGES: `id` is the first part of the address,
// `key` the letter after `g`, `grant` what is needed for it (one of several is enough), `local`
// that only a local service has it, `person` that it is for people and not for keys, `hidden` that
// the navigation leaves it out, `styles` which style sheets it needs instead of those of all pages.
import { local, may } from "../core/service.js";
import { person } from "../core/session.js";

export const PAGES = [
  {
    id: "overview",
    label: "Overview",
    icon: "layout-dashboard",
    key: "o",
    group: "",
    load: () => import("./overview.js"),
    styles: [],
  },
  {
    id: "mailbox",
    label: "Mailbox",
    icon: "inbox",
    key: "m",
    group: "",
    local: true,
    load: () => import("./mailbox.js"),
  },
  {
    id: "received",
    label: "Received mail",
    icon: "mail-open",
    key: "n",
    group: "",
    grant: "inbound_domains/manage",
    load: () => import("./received.js"),
  },
  {
    id: "activity",
    label: "Activity",
    icon: "activity",
    key: "a",
    group: "",
    grant: "message_events/view",
    load: () => import("./activity.js"),
  },
  {
    id: "metrics",
    label: "Metrics",
    icon: "chart-line",
    key: "c",
    group: "",
    grant: "metrics/view",
    load: () => import("./metrics.js"),
  },
  {
    id: "send",
    label: "Send",
    icon: "send",
    key: "e",
    group: "Send",
    grant: ["transmissions/modify", "transmissions/view"],
    load: () => import("./send.js"),
  },
  {
    id: "templates",
    label: "Templates",
    icon: "file-text",
    key: "t",
    group: "Send",
    grant: "templates/view",
    load: () => import("./templates.js"),
  },
  {
    id: "audience",
    label: "Audience",
    icon: "users",
    key: "u",
    group: "Send",
    grant: ["recipient_lists/manage", "suppression_lists/manage", "recipient-validation/manage"],
    load: () => import("./audience.js"),
  },
  {
    id: "domains",
    label: "Domains",
    icon: "globe",
    key: "d",
    group: "Set up",
    grant: ["sending_domains/view", "tracking_domains/view", "inbound_domains/manage"],
    load: () => import("./domains.js"),
  },
  {
    id: "webhooks",
    label: "Webhooks",
    icon: "webhook",
    key: "w",
    group: "Set up",
    grant: ["webhooks/view", "relay_webhooks/view"],
    load: () => import("./webhooks.js"),
  },
  {
    id: "settings",
    label: "Settings",
    icon: "settings",
    key: "s",
    group: "Set up",
    load: () => import("./settings.js"),
  },
  {
    id: "users",
    label: "Users",
    icon: "user",
    key: "r",
    group: "Set up",
    grant: "users/view",
    load: () => import("./users.js"),
  },
  {
    id: "audit-log",
    label: "Audit log",
    icon: "history",
    key: "l",
    group: "Set up",
    grant: "audit_log/view",
    load: () => import("./audit-log.js"),
  },
  {
    id: "api",
    label: "API",
    icon: "braces",
    key: "p",
    group: "Set up",
    load: () => import("./api.js"),
  },
  {
    id: "failures",
    label: "Failure lab",
    icon: "flask-conical",
    key: "f",
    group: "Local",
    local: true,
    load: () => import("./failures.js"),
  },
  {
    id: "inspector",
    label: "Webhook inspector",
    icon: "radio",
    key: "i",
    group: "Local",
    local: true,
    load: () => import("./inspector.js"),
  },
  {
    id: "profile",
    label: "Your profile",
    icon: "user",
    person: true,
    hidden: true,
    load: () => import("./profile.js"),
    styles: ["styles/pages.css", "styles/people.css"],
  },
];

/** What a key needs to send: one of them is enough. */
export const SENDING = ["transmissions/modify", "smtp/inject"];

/** Whether this service has the page, and the key or person may see it. */
export const mayOpen = (page) =>
  (!page.local || local.value) && (!page.person || person.value) && may(page.grant);
