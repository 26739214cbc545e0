// Replace the key of a domain while its mail stays signed: the new record is in the DNS before the
// new key signs, and the old record stays for the mail that is under way.
import { html, useState } from "../vendor/preact.js";
import { post, put, remove } from "../core/api.js";
import { makePrivateKey, recordOf } from "../core/key-pair.js";
import { TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Notice } from "../parts/feedback.js";
import { publish, Record } from "./domains-records.js";

const STEPS = ["Make a new key", "Publish it", "Sign with it"];
const today = () => new Date().toISOString().slice(0, 10).replaceAll("-", "");

/** Each step shows what is next; until the last one the old key signs. */
export function Rotation({ path, isLocal, onClose }) {
  const [selector, setSelector] = useState(`s${today()}`);
  const [fresh, setFresh] = useState(null);
  const [problem, setProblem] = useState("");
  const [isDone, setDone] = useState(false);
  const { change, check, make } = stepsOf({ path, fresh, selector, setFresh, setProblem, setDone });
  const isPublished = fresh?.key.dkim_status === "valid";
  const { submit, send } = nextStep({ isDone, isPublished, change, fresh, check, make });
  const step = isDone ? 3 : isPublished ? 2 : fresh ? 1 : 0;
  return html`
    <${Dialog}
      title="Rotate the key"
      submit=${submit}
      wide
      disabled=${!selector.trim()}
      onClose=${onClose}
      onSubmit=${send}
    >
      <p class="label">Step ${Math.min(step + 1, 3)} of 3: ${STEPS[Math.min(step, 2)]}</p>
      ${
        !fresh &&
        html`
          <p class="soft">
            This browser makes the new key and hands it to the service. The present key signs until
            the last step.
          </p>
          <${NewSelector} selector=${selector} setSelector=${setSelector} />
        `
      }
      ${
        fresh &&
        !isPublished &&
        html`
          <p class="soft">
            Publish this record beside the present one, and keep this dialog open: the private half
            of the key is only here and in the service.
          </p>
          <${NewRecord} fresh=${fresh} problem=${problem} isLocal=${isLocal} check=${check} />
        `
      }
      ${isPublished && !isDone && html`<${Published} />`}
      ${isDone && html`<${Done} />`}
    <//>
  `;
}

/** The next step: its button, and what it does. */
function nextStep({ isDone, isPublished, change, fresh, check, make }) {
  const [submit, send] = isDone
    ? ["Close", () => true]
    : isPublished
      ? ["Sign with the new key", change]
      : fresh
        ? ["Check the DNS", check]
        : ["Make a new key", make];
  return { submit, send };
}

function NewSelector({ selector, setSelector }) {
  return html`
    <${TextField}
      label="Selector"
      spellcheck="false"
      autocapitalize="none"
      value=${selector}
      onInput=${setSelector}
      hint="One that the domain has not used yet."
    />
  `;
}

function Done() {
  return html`
    <${Notice} tone="good" icon="circle-check">
      The new key signs. Leave the old record in the DNS for a week, for mail that is still under
      way; then remove it.
    <//>
  `;
}

function Published() {
  return html`
    <${Notice} tone="good" icon="circle-check">
      The record is published. From the next step on the new key signs all mail that names no other
      key.
    <//>
  `;
}

function NewRecord({ fresh, problem, isLocal, check }) {
  return html`
    <${Record}
      bare
      record=${recordOf(fresh.key)}
      title="the new key"
      problem=${problem}
      onPublish=${
        isLocal &&
        (async (record) => {
          if (await publish(record)) await check();
        })
      }
    />
  `;
}

/** What each step does; none of them closes the dialog. */
function stepsOf({ path, fresh, selector, setFresh, setProblem, setDone }) {
  const own = () => `${path}/dkim-keys/${encodeURIComponent(fresh.key.id)}`;
  const make = async () => {
    const pem = await makePrivateKey();
    const { results } = await post(`${path}/dkim-keys`, {
      id: `rotation-${selector.trim().replace(/[^A-Za-z0-9_-]/g, "-")}`.slice(0, 64),
      private: pem,
      selector: selector.trim(),
    });
    setFresh({ key: results, pem });
    return false;
  };
  const check = async () => {
    const { results } = await post(`${own()}/verify`, {});
    setProblem(results.dns?.dkim_error ?? "");
    setFresh({ ...fresh, key: { ...fresh.key, dkim_status: results.dkim_status } });
    return false;
  };
  const change = async () => {
    // Two keys of a domain never share a selector, so the further key makes room
    await remove(own());
    await put(path, { dkim: { private: fresh.pem, selector: fresh.key.selector } });
    await post(`${path}/verify`, { dkim_verify: true });
    setDone(true);
    return false;
  };
  return { change, check, make };
}
