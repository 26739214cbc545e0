// Texts for people: numbers, sizes, times, shares.
const count = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const year = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", year: "numeric" });

export const number = (value) =>
  value === undefined || value === null ? "–" : count.format(value);
export const compact = (value) =>
  value === undefined || value === null
    ? "–"
    : value < 10000
      ? count.format(value)
      : short.format(value);
export const plural = (value, one, many = `${one}s`) =>
  `${number(value)} ${value === 1 ? one : many}`;

/** `part` of `total` in percent, with as many digits as say something. */
export function share(part, total) {
  if (!total) return "–";
  const percent = (100 * part) / total;
  const digits = percent === 0 || percent >= 10 ? 0 : percent < 0.1 ? 2 : 1;
  return `${percent.toFixed(digits)} %`;
}

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const units = ["KB", "MB", "GB"];
  let size = value;
  let unit = -1;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** The time of the day, such as `14:05`. */
export const clockTime = (time) => clock.format(new Date(time));
export const exactTime = (time) => exact.format(new Date(time));

/** How long ago, in words as short as they are clear; older than a day as a date. */
export function ago(time, now = Date.now()) {
  const then = new Date(time);
  const seconds = Math.round((now - then.getTime()) / 1000);
  if (seconds < 0) return inFuture(-seconds, then, now);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return then.getFullYear() === new Date(now).getFullYear()
    ? `${day.format(then)}, ${clock.format(then)}`
    : year.format(then);
}

/** A time of the API for an input of date and time, which knows no time zones. */
export function localTime(time) {
  if (!time) return "";
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

function inFuture(seconds, then, now) {
  if (seconds < 5) return "now";
  if (seconds < 60) return `in ${seconds} s`;
  if (seconds < 3600) return `in ${Math.ceil(seconds / 60)} min`;
  if (seconds < 86400) return `in ${Math.ceil(seconds / 3600)} h`;
  return then.getFullYear() === new Date(now).getFullYear()
    ? `${day.format(then)}, ${clock.format(then)}`
    : year.format(then);
}

/** `bounce_class` → `Bounce class` */
export function label(name) {
  const words = name.replaceAll(/[_-]/g, " ");
  return words[0].toUpperCase() + words.slice(1);
}
