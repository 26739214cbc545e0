// The form of a rule of the failure lab, and examples to begin with.
import { html, useState } from "../vendor/preact.js";
import { post, put } from "../core/api.js";
import { SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";

/** Steps of SMTP → what a rule at it answers. */
export const STEPS = {
  connect: "Connection",
  mail: "MAIL FROM",
  rcpt: "RCPT TO",
  data: "DATA",
  dot: "End of message",
};

export const EXAMPLES = [
  {
    title: "Deferred twice, then delivered",
    about: "Greylisting: the service tries again.",
    rule: {
      pattern: "*@greylist.test",
      step: "rcpt",
      code: 451,
      text: "4.7.1 Greylisted, please try again later",
      times: 2,
    },
  },
  {
    title: "User unknown",
    about: "A hard bounce: the address is suppressed.",
    rule: { pattern: "*@unknown.test", step: "rcpt", code: 550, text: "5.1.1 User unknown" },
  },
  {
    title: "Mailbox full",
    about: "Deferred as long as the rule is there.",
    rule: { pattern: "*@full.test", step: "rcpt", code: 452, text: "4.2.2 Mailbox full" },
  },
  {
    title: "Taken for spam",
    about: "Refused once the whole message was read.",
    rule: {
      pattern: "*@strict.test",
      step: "dot",
      code: 554,
      text: "5.7.1 Message rejected as spam",
    },
  },
  {
    title: "Slow host",
    about: "Accepts after ten seconds.",
    rule: { pattern: "*@slow.test", step: "dot", code: 250, delay: 10 },
  },
  {
    title: "Connection lost once",
    about: "Closed in the middle; the next attempt works.",
    rule: { pattern: "*@flaky.test", step: "data", code: null, times: 1 },
  },
  {
    title: "One recipient in ten is deferred",
    about: "For every address, by chance.",
    rule: { pattern: "*", step: "rcpt", code: 451, text: "4.3.0 Temporary failure", percent: 10 },
  },
];

const EFFECTS = [
  ["refuse", "Refuse with a code"],
  ["accept", "Accept, but late"],
  ["drop", "Close the connection without a reply"],
];
const effectOf = (code) => (code === null ? "drop" : code === 250 ? "accept" : "refuse");

/** Add a rule with the fields of `rule`, or change it if it has an id. */
export function RuleForm({ rule, onClose, onSaved }) {
  const [pattern, setPattern] = useState(rule.pattern ?? "");
  const [step, setStep] = useState(rule.step ?? "rcpt");
  const [effect, setEffect] = useState(rule.code === undefined ? "refuse" : effectOf(rule.code));
  const [code, setCode] = useState(String(rule.code && rule.code !== 250 ? rule.code : 451));
  const [text, setText] = useState(rule.text ?? "");
  const [delay, setDelay] = useState(String(rule.delay ?? 0));
  const [times, setTimes] = useState(rule.times ? String(rule.times) : "");
  const [percent, setPercent] = useState(String(rule.percent ?? 100));
  const everyone = step === "connect";

  const fields = { pattern, step, effect, code, text, delay, times, percent };
  const save = saveAction(rule, fields, onSaved);
  return html`
    <${Dialog}
      title=${rule.id ? "Change rule" : "Add rule"}
      submit=${rule.id ? "Save" : "Add"}
      disabled=${!everyone && !pattern.trim()}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${SelectField}
        label="Step of SMTP"
        value=${step}
        options=${Object.entries(STEPS)}
        onChange=${setStep}
      />
      <${PatternField}
        step=${step}
        everyone=${everyone}
        pattern=${pattern}
        setPattern=${setPattern}
      />
      <${SelectField}
        label="What happens"
        value=${effect}
        options=${EFFECTS}
        onChange=${setEffect}
      />
      ${
        effect === "refuse" &&
        html`<${Refusal} code=${code} setCode=${setCode} text=${text} setText=${setText} />`
      }
      <${Frequency}
        delay=${delay}
        setDelay=${setDelay}
        times=${times}
        setTimes=${setTimes}
        percent=${percent}
        setPercent=${setPercent}
      />
      ${rule.id && html`<p class="soft">A rule that is changed begins to count anew.</p>`}
    <//>
  `;
}

function saveAction(rule, { pattern, step, effect, code, text, delay, times, percent }, onSaved) {
  return async () => {
    const body = {
      pattern: step === "connect" ? "*" : pattern.trim(),
      step,
      code: { drop: null, accept: 250, refuse: Number(code) }[effect],
      text: effect === "refuse" ? text : "",
      delay: Number(delay),
      times: times ? Number(times) : null,
      percent: Number(percent),
    };
    await (rule.id ? put(`local/failures/${rule.id}`, body) : post("local/failures", body));
    onSaved();
  };
}

function PatternField({ step, everyone, pattern, setPattern }) {
  return html`
    <${TextField}
      label=${step === "mail" ? "Envelope sender" : "Recipient"}
      class="mono"
      disabled=${everyone}
      placeholder="*@example.test"
      value=${everyone ? "*" : pattern}
      onInput=${setPattern}
      spellcheck="false"
      autocapitalize="none"
      hint=${
        everyone
          ? "No address is known yet when a connection begins: the rule applies to all."
          : "A whole address, in which * stands for any characters."
      }
    />
  `;
}

function Frequency({ delay, setDelay, times, setTimes, percent, setPercent }) {
  return html`
    <div class="form-grid">
      <${TextField}
        label="Delay in seconds"
        type="number"
        min="0"
        max="600"
        step="any"
        value=${delay}
        onInput=${setDelay}
      />
      <${TextField}
        label="How often"
        optional
        type="number"
        min="1"
        hint="Empty: always."
        value=${times}
        onInput=${setTimes}
      />
      <${TextField}
        label="Chance in percent"
        type="number"
        min="1"
        max="100"
        value=${percent}
        onInput=${setPercent}
      />
    </div>
  `;
}

function Refusal({ code, setCode, text, setText }) {
  return html`
    <div class="form-grid">
      <${TextField}
        label="Code"
        type="number"
        min="400"
        max="599"
        hint="4xx: try again later. 5xx: never."
        value=${code}
        onInput=${setCode}
      />
      <${TextField}
        label="Text"
        optional
        placeholder="4.2.2 Mailbox full"
        value=${text}
        onInput=${setText}
      />
    </div>
  `;
}
