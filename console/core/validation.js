// What the validation of recipients says, in words for people.

export const PATH = "api/v1/recipient-validation";

/** Result of the API → its text, tone and icon, the good ones first. */
export const RESULTS = {
  valid: ["Valid", "good", "circle-check"],
  neutral: ["Neutral", "info", "info"],
  risky: ["Risky", "warn", "alert-triangle"],
  undeliverable: ["Undeliverable", "bad", "circle-x"],
  typo: ["Typo", "bad", "pencil"],
};

/** Results of the recipients that a copy of a list gets. */
export const GOOD = ["valid", "neutral", "risky"];

const REASONS = {
  "Invalid Syntax": "This is not an email address.",
  "Invalid Domain": "The domain takes no mail.",
  "Invalid Recipient": "The address is on the suppression list, where hard bounces go as well.",
};

const OF_RESULT = {
  valid: "Mail to it is likely to arrive.",
  neutral: "The DNS does not say for certain whether the domain takes mail.",
  risky: "Mail arrives, but perhaps not with the person whom it is meant for.",
};

/** Why an address has its result. */
export function explain({ result, reason, valid }) {
  if (result === "typo")
    return valid
      ? "The domain takes mail, and differs by one slip from that of a well-known provider."
      : "The domain takes no mail, and resembles that of a well-known provider.";
  return REASONS[reason] ?? OF_RESULT[result] ?? "";
}

/** What kind of address it is: `[text, ...]`. */
export function kindsOf(verdict) {
  return [
    verdict.is_role && "Role, not a person",
    verdict.is_disposable && "Disposable",
    verdict.is_free && "Free provider",
  ].filter(Boolean);
}
