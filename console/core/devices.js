// What a session was begun with, in words: the browser and the system that its User-Agent names.

// The first that matches counts: most browsers also name those that they resemble
const BROWSERS = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
];
const SYSTEMS = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMac OS X\b|\bMacintosh\b/, "Mac"],
  [/\bLinux\b/, "Linux"],
];

const nameIn = (table, agent) => table.find(([pattern]) => pattern.test(agent))?.[1] ?? "";

/** `Firefox on Linux`; of an agent that names nothing familiar its first word. */
export function deviceOf(agent) {
  const words = [nameIn(BROWSERS, agent), nameIn(SYSTEMS, agent)].filter(Boolean);
  return words.join(" on ") || agent.split(/[\s/]/)[0] || "Unknown device";
}

/** Whether it is one that is carried about. */
export const isMobile = (agent) => /\b(iPhone|iPad|Android|Mobile)\b/.test(agent);
