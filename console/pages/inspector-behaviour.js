// Where the receivers are, and how one answers in words.
export const PATH = "local/webhooks";

/** The path of a receiver. */
export const pathOf = (name) => `${PATH}/${encodeURIComponent(name)}`;

/** How a receiver answers: text, tone and icon of its badge. */
export function behaviour({ status, delay, times }) {
  const often = times === null ? "" : `, ${times === 1 ? "once" : `${times} times`}`;
  if (delay) return [`${status} after ${delay} s${often}`, "warn", "clock"];
  return status === 200
    ? ["Answers 200", "good", "check"]
    : [`Answers ${status}${often}`, "bad", "circle-x"];
}
