// The roles of users in plain words.

export const CUSTOM = "custom";

/** `[role, name, what it allows]`, the one that allows most first. */
export const ROLES = [
  ["admin", "Administrator", "Everything, with users, API keys and the account itself."],
  ["developer", "Developer", "Sending, domains, webhooks, templates and API keys. No users."],
  ["templates", "Templates", "Writes templates, runs A/B tests and keeps recipient lists."],
  ["reporting", "Reporting", "Reads events, figures and settings. Changes nothing."],
  [CUSTOM, "Custom", "Only what you choose below."],
];

export const roleName = (role) => ROLES.find(([id]) => id === role)?.[1] ?? role;
