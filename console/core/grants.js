// The grants that API keys and users can have: the presets with plain names, and the long list.
import { get } from "./api.js";
import { operationsOf } from "./description.js";
import { label, plural } from "./format.js";
import { grants as ownGrants, may } from "./service.js";

/** The grant to send over SMTP: the only one in use that no route of the API asks for. */
const INJECT = "smtp/inject";

/**
 * What people choose, each a set of grants: `needs` are those without which it is not what its name
 * says, `adds` are given as well where they are on offer.
 */
const PRESETS = [
  {
    id: "send",
    label: "Send mail",
    about: "By the HTTP API and by SMTP.",
    needs: ["transmissions/modify", INJECT],
    adds: [],
  },
  {
    id: "reports",
    label: "Read reports",
    about: "Events, figures and how much of the plan is used.",
    needs: ["message_events/view"],
    adds: ["metrics/view", "usage/view", "transmissions/view"],
  },
  {
    id: "templates",
    label: "Templates",
    about: "Templates, snippets and A/B tests.",
    needs: ["templates/view", "templates/modify"],
    adds: ["templates/preview", "ab-testing/manage"],
  },
  {
    id: "recipients",
    label: "Recipients",
    about: "Recipient lists, who gets no mail, and whether mail would arrive.",
    needs: ["suppression_lists/manage"],
    adds: ["recipient_lists/manage", "recipient-validation/manage"],
  },
  {
    id: "domains",
    label: "Domains",
    about: "Sending, tracking and inbound domains.",
    needs: ["sending_domains/manage", "tracking_domains/manage"],
    adds: ["tracking_domains/view", "inbound_domains/manage"],
  },
  {
    id: "webhooks",
    label: "Webhooks",
    about: "Where events are posted to.",
    needs: ["webhooks/modify", "webhooks/view"],
    adds: ["relay_webhooks/modify", "relay_webhooks/view"],
  },
];
const EVERYTHING = {
  id: "everything",
  label: "Everything",
  about: "All grants that can be given.",
};

const within = (names, set) => names.every((each) => set.has(each));

/**
 * The presets for the grants on `offer` (`[{key}, ...]`): `[{id, label, about, grants}, ...]`.
 * @returns {Api.Preset[]}
 */
export function presetsFor(offer) {
  const keys = offer.map((each) => each.key);
  const set = new Set(keys);
  const presets = PRESETS.filter((each) => within(each.needs, set)).map(
    ({ needs, adds, ...preset }) => ({
      ...preset,
      grants: [...needs, ...adds.filter((each) => set.has(each))],
    }),
  );
  return [...presets, { ...EVERYTHING, grants: keys }];
}

export const holds = (preset, chosen) => within(preset.grants, chosen);

/** `chosen` after a preset was checked or cleared; what another checked one gives stays. */
export function withPreset(chosen, preset, on, presets) {
  const next = new Set(chosen);
  if (on) for (const each of preset.grants) next.add(each);
  else {
    const others = presets.filter(
      (each) => each !== preset && each.id !== EVERYTHING.id && holds(each, chosen),
    );
    const kept = new Set(preset.id === EVERYTHING.id ? [] : others.flatMap((each) => each.grants));
    for (const each of preset.grants) if (!kept.has(each)) next.delete(each);
  }
  return next;
}

/** Whether presets alone say what is `chosen` of the grants on offer. */
export function isOfPresets(chosen, offer) {
  return rest(chosen, offer, held(chosen, offer)).length === 0;
}

/** What grants allow, in few words: `Send mail, Templates and 2 other grants`. */
export function inFewWords(grants, offer) {
  const chosen = new Set(grants);
  const presets = held(chosen, offer);
  if (presets.some((each) => each.id === EVERYTHING.id)) return EVERYTHING.label;
  const others = rest(chosen, offer, presets).length;
  const names = presets.map((each) => each.label).join(", ");
  if (!names) return others ? plural(others, "grant") : "No grant that is in use";
  return others ? `${names} and ${plural(others, "other grant")}` : names;
}

const held = (chosen, offer) => presetsFor(offer).filter((each) => holds(each, chosen));
const rest = (chosen, offer, presets) =>
  offer.filter(
    ({ key }) => chosen.has(key) && !presets.some((preset) => preset.grants.includes(key)),
  );

/**
 * The grants that something in this service asks for: `[{key, label, description}, ...]`, those
 * that keys of subaccounts can have with `ofSubaccount`. A key that may not list them sees its own.
 */
export async function loadGrants(signal, ofSubaccount = false) {
  if (may("grants/view")) {
    const query = ofSubaccount ? { role: "subaccount" } : undefined;
    const { results } = await get("api/v1/authenticate/grants", query, { signal });
    return results.filter((each) => each.used);
  }
  const operations = operationsOf(await get("openapi.json", undefined, { signal }));
  const used = new Set([INJECT, ...operations.map((each) => each.grant)]);
  return [...ownGrants.value]
    .filter((each) => used.has(each))
    .map((key) => ({ key, label: label(key.replace("/", ": ")), description: "" }));
}
