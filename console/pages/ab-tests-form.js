// The form of an A/B test: its templates with their shares, what is measured, and when.
import { html, useState } from "../vendor/preact.js";
import {
  AB_TESTS,
  chosenEnd,
  draftPath,
  hasEnded,
  METRICS,
  MODES,
  resultsOf,
  SELECTIONS,
  testPath,
} from "../core/ab-tests.js";
import { get, post, put } from "../core/api.js";
import { localTime } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { freeId } from "../core/slug.js";
import { TEMPLATES } from "../core/templates.js";
import { Button, CheckField, SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded } from "../parts/feedback.js";
import { IdField } from "../parts/id-field.js";

const EMPTY = { template: "", percent: "", size: "" };

function fieldsOf(test) {
  const again = test && hasEnded(test);
  return {
    name: test?.name ?? "",
    id: "",
    metric: test?.metric ?? METRICS[0][0],
    mode: test?.test_mode ?? MODES[0][0],
    selection: test?.audience_selection ?? "percent",
    confidence: String(Number(((test?.confidence_level ?? 0.95) * 100).toFixed(4))),
    wait: String(test?.engagement_timeout ?? 24),
    limit: test?.audience_selection === "percent" ? String(test.total_sample_size ?? "") : "",
    start: again ? "" : localTime(test?.start_time),
    end: chosenEnd(test),
  };
}

function sharesOf(test) {
  if (!test)
    return [
      { ...EMPTY, percent: "50" },
      { ...EMPTY, percent: "50" },
    ];
  const shares = resultsOf(test).map((each) => ({
    template: each.template_id,
    percent: String(each.percent ?? ""),
    size: String(each.sample_size ?? ""),
  }));
  return shares.length > 1 ? shares : [...shares, EMPTY];
}

/** Divide 100 percent evenly; what is left over goes to the default template. */
const evenly = (shares) =>
  shares.map((each, index) => {
    const part = Math.floor(100 / shares.length);
    return { ...each, percent: String(index ? part : 100 - part * (shares.length - 1)) };
  });

/**
 * Make an A/B test with another id than `ids`, or change `test`; one that ended becomes a new
 * version. `onSaved` gets its id.
 */
export function AbTestForm({ test, ids = [], onClose, onSaved }) {
  const [former] = useState(() => fieldsOf(test));
  const [fields, setFields] = useState(former);
  const [shares, setShares] = useState(() => sharesOf(test));
  // A scheduled test cannot become a draft again
  const fixed = test?.status === "scheduled";
  const [schedule, setSchedule] = useState(fixed);
  const templates = useResource((signal) =>
    get(TEMPLATES, undefined, { signal }).then(({ results }) =>
      results.filter((each) => each.has_published),
    ),
  );
  const set = (name) => (value) => setFields((before) => ({ ...before, [name]: value }));
  const text = (name) => ({ value: fields[name], onInput: set(name) });
  const choice = (name) => ({ value: fields[name], onChange: set(name) });
  const setShare = (index, change) =>
    setShares(shares.map((each, at) => (at === index ? { ...each, ...change } : each)));
  const proposal = freeId(fields.name, ids);
  const save = saveAction({ fields, shares, former, schedule, test, proposal, onSaved });
  const incomplete =
    !fields.name.trim() ||
    !shares[0].template ||
    (schedule && shares.some((each) => !each.template));
  const sizes = fields.selection === "sample_size";
  return html`
    <${Dialog}
      wide
      title=${!test ? "New A/B test" : hasEnded(test) ? "New version" : "Change A/B test"}
      submit=${schedule ? (fixed ? "Save" : "Schedule") : "Save draft"}
      disabled=${incomplete}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${Basics} text=${text} test=${test} proposal=${proposal} choice=${choice} fields=${fields} />
      <${Shares}
        templates=${templates}
        shares=${shares}
        sizes=${sizes}
        setShare=${setShare}
        setShares=${setShares}
      />
      <${Limits} fields=${fields} text=${text} sizes=${sizes} schedule=${schedule} />
      ${
        !fixed &&
        html`
          <${CheckField}
            toggle
            label="Schedule it"
            hint="A draft sends its default template and measures nothing."
            checked=${schedule}
            onChange=${setSchedule}
          />
        `
      }
    <//>
  `;
}

function Limits({ fields, text, sizes, schedule }) {
  return html`
    <div class="form-grid">
      ${
        fields.mode === "bayesian" &&
        html`
          <${TextField}
            label="Confidence in percent"
            type="number"
            min="1"
            max="99.99"
            step="any"
            hint="How certain it must be that the winner is the best."
            ...${text("confidence")}
          />
        `
      }
      ${
        !sizes &&
        html`
          <${TextField}
            label="At most this many messages"
            optional
            type="number"
            min="1"
            hint="Later messages get the default template until the test ends."
            ...${text("limit")}
          />
        `
      }
      <${TextField}
        label="Start"
        optional
        type="datetime-local"
        step="1"
        hint=${schedule ? "Empty: now." : "Needed when the test is scheduled; empty then: now."}
        ...${text("start")}
      />
      <${TextField}
        label="End"
        optional
        type="datetime-local"
        step="1"
        hint="Empty: as late as the API allows, 30 days with the wait."
        ...${text("end")}
      />
      <${TextField}
        label="Wait for engagement, in hours"
        type="number"
        min="0"
        max="719"
        hint="After the end, before the test is completed."
        ...${text("wait")}
      />
    </div>
  `;
}

function Shares({ templates, shares, sizes, setShare, setShares }) {
  return html`
    <${Loaded} resource=${templates}>
      ${(all) => html`
        <div class="stack" role="group" aria-label="Templates">
          ${shares.map(
            (each, index) => html`
              <${Share}
                key=${index}
                index=${index}
                share=${each}
                templates=${all}
                sizes=${sizes}
                onChange=${(change) => setShare(index, change)}
                onRemove=${
                  shares.length > 2 &&
                  index > 0 &&
                  (() => setShares(evenly(shares.filter((_, at) => at !== index))))
                }
              />
            `,
          )}
          ${
            shares.length < 20 &&
            html`
              <div>
                <${Button}
                  kind="small"
                  icon="plus"
                  onClick=${() => setShares(evenly([...shares, EMPTY]))}
                >
                  Add variant
                <//>
              </div>
            `
          }
        </div>
      `}
    <//>
  `;
}

function Basics({ text, test, proposal, choice, fields }) {
  return html`
    <div class="form-grid">
      <${TextField} label="Name" maxlength="64" ...${text("name")} />
      ${
        !test &&
        html`<${IdField} hint="Transmissions name it." proposal=${proposal} ...${text("id")} />`
      }
      <${SelectField} label="Metric" options=${METRICS} ...${choice("metric")} />
      <${SelectField}
        label="Mode"
        options=${MODES}
        hint=${
          fields.mode === "bayesian"
            ? "After the test, all mail gets the winner."
            : "Nobody wins: all mail gets the default template."
        }
        ...${choice("mode")}
      />
      <${SelectField} label="Shares" options=${SELECTIONS} ...${choice("selection")} />
    </div>
  `;
}

/** What saves the form: as a new test, as a draft, or as a change. */
function saveAction({ fields, shares, former, schedule, test, proposal, onSaved }) {
  return async () => {
    const body = bodyOf(fields, shares, former, schedule);
    const request = !test
      ? post(schedule ? AB_TESTS : `${AB_TESTS}/draft`, {
          ...body,
          ...((fields.id || proposal) && { id: fields.id || proposal }),
        })
      : test.status === "draft"
        ? schedule
          ? post(`${draftPath(test.id)}/schedule`, body)
          : put(draftPath(test.id), body)
        : put(schedule ? testPath(test.id) : draftPath(test.id), body);
    const { results } = await request;
    onSaved(results.id ?? test.id);
    // `onSaved` leads to the test, and so closes this form: closing it once more would change that
    // address
    return Boolean(test);
  };
}

function Share({ index, share, templates, sizes, onChange, onRemove }) {
  const name = index ? `Variant ${index}` : "Default template";
  const options = templates.map((each) => [each.id, each.name]);
  const known = !share.template || options.some(([id]) => id === share.template);
  return html`
    <div class="form-grid">
      <${SelectField}
        label=${name}
        value=${share.template}
        onChange=${(template) => onChange({ template })}
        options=${[
          ["", options.length ? "Choose" : "No template is published"],
          ...options,
          ...(known ? [] : [[share.template, share.template]]),
        ]}
      />
      ${
        sizes
          ? html`
            <${TextField}
              label="Messages of ${name.toLowerCase()}"
              type="number"
              min="1"
              value=${share.size}
              onInput=${(size) => onChange({ size })}
            />
          `
          : html`
            <${TextField}
              label="Percent of ${name.toLowerCase()}"
              type="number"
              min="0"
              max="100"
              step="any"
              value=${share.percent}
              onInput=${(percent) => onChange({ percent })}
            />
          `
      }
      ${
        onRemove &&
        html`
          <div>
            <${Button} kind="small" icon="x" onClick=${onRemove}>
              Remove<span class="visually-hidden"> ${name}</span>
            <//>
          </div>
        `
      }
    </div>
  `;
}

function bodyOf(fields, shares, former, schedule) {
  // The API takes an absent field as unchanged, so what was stored once cannot be removed
  for (const [name, title] of [
    ["start", "The start"],
    ["end", "The end"],
    ["limit", "The number of messages"],
  ]) {
    if (former[name] && !fields[name] && !(name === "start" && schedule))
      throw new Error(`${title} can be changed, but not removed.`);
  }
  const sizes = fields.selection === "sample_size";
  const chosen = shares
    .filter((each) => each.template)
    .map((each) => ({
      template_id: each.template,
      ...(sizes
        ? each.size && { sample_size: Number(each.size) }
        : each.percent && { percent: Number(each.percent) }),
    }));
  const total = sizes
    ? chosen.reduce((sum, each) => sum + (each.sample_size ?? 0), 0)
    : Number(fields.limit);
  const time = (text) => new Date(text).toISOString();
  const start = fields.start ? time(fields.start) : schedule ? new Date().toISOString() : "";
  return {
    name: fields.name.trim(),
    metric: fields.metric,
    test_mode: fields.mode,
    audience_selection: fields.selection,
    default_template: chosen[0],
    variants: chosen.slice(1),
    engagement_timeout: Number(fields.wait),
    ...(fields.mode === "bayesian" && {
      confidence_level: Number((Number(fields.confidence) / 100).toFixed(6)),
    }),
    ...(total && { total_sample_size: total }),
    ...(start && { start_time: start }),
    ...(fields.end && { end_time: time(fields.end) }),
  };
}
