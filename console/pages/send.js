// Send: compose a transmission, see it as a request, send it, and follow it to its last event.
import { html, useEffect, useLayoutEffect, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { draft, dropDraft, keepDraft } from "../core/draft.js";
import { actingFor, exampleOf, LANGUAGES } from "../core/examples.js";
import { plural } from "../core/format.js";
import { badRows } from "../core/recipients.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, who } from "../core/service.js";
import { Button } from "../parts/controls.js";
import { Code } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { Empty, ErrorBox } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { SendTest } from "../parts/send-test.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { Check, useCheck } from "./send-check.js";
import { bodyOf, emptyContent, emptyOptions } from "./send-body.js";
import { ContentForm } from "./send-content.js";
import { withoutData } from "./send-files.js";
import { OptionsForm } from "./send-options.js";
import { SendProgress } from "./send-progress.js";
import { RecipientsForm } from "./send-recipients.js";

const PATH = "api/v1/transmissions";
const QUERY = { num_rcpt_errors: 10000 };
const SHOWN_RECIPIENTS = 3;
const CONFIRMED_FROM = 100;
const NO_SOURCE = { text: "", file: "" };

export default function Send() {
  const [report, setReport] = useState(null);
  // Another draft is another form, so that nothing of the former one stays
  const [turn, setTurn] = useState(0);
  const id = route.value.path[1];
  if (id)
    return html`<${SendProgress} key=${id} id=${id} report=${report?.id === id ? report : null} />`;
  if (!may("transmissions/modify")) return html`<${Reader} />`;
  return html`<${Compose} key=${turn} onSent=${setReport} onEmpty=${() => setTurn(turn + 1)} />`;
}

function Reader() {
  const activity =
    may("message_events/view") &&
    html`<${Button} icon="activity" href=${href(["activity"])}>Activity<//>`;
  return html`
    <div class="page">
      <${PageHead} title="Send" />
      <${Empty} icon="key" title="${who()} may not send" actions=${activity}>
        It takes the grant "Transmissions: Read/Write".
        ${activity && " An event leads to its transmission."}
      <//>
    </div>
  `;
}

function Compose({ onSent, onEmpty }) {
  const [former] = useState(draft);
  const [content, setContent] = useState(
    former ? { ...emptyContent, ...former.content } : emptyContent,
  );
  const [options, setOptions] = useState(
    former ? { ...emptyOptions, ...former.options } : emptyOptions,
  );
  const [source, setSource] = useState(former?.source ?? NO_SOURCE);
  const [read, setRead] = useState(null);
  const { query } = route.value;
  const written = isWritten(content, options, source, query);
  const { body, problems } = bodyOf({ query, content, options, read });
  const check = useCheck(query, body);
  if (check.hasErrors) problems.push("Correct the errors in the content.");
  const count = Array.isArray(body.recipients) ? body.recipients.length : 0;
  const sending = useSending({ former, body, count, read, onSent });
  const { idempotencyKey } = sending;
  useKeptDraft(
    { content, options, source, query, idempotencyKey },
    former,
    written && !sending.busy,
  );
  return html`
    <div class="page">
      <${Head} written=${written} empty=${emptyAction(onEmpty)} />
      <div class="columns">
        <div class="stack">
          <${ContentForm}
            query=${query}
            content=${content}
            onChange=${setContent}
            faults=${check.faults}
          />
          <${RecipientsForm}
            query=${query}
            onChange=${setRead}
            source=${source}
            onSource=${setSource}
          />
          <${OptionsForm} options=${options} onChange=${setOptions} />
        </div>
        <div class="stack">
          <${Request}
            body=${body}
            count=${count}
            problems=${problems}
            sending=${sending}
            options=${options}
            check=${check}
          />
          <${Check} check=${check} />
        </div>
      </div>
    </div>
  `;
}

function Head({ written, empty }) {
  return html`
    <${PageHead}
      title="Send"
      about="Compose a transmission, see the request, and follow what becomes of it."
    >
      ${written && html`<${Button} icon="rotate-ccw" onClick=${empty}>Start again<//>`}
    <//>
  `;
}

function Request({ body, count, problems, sending, options, check }) {
  const { idempotencyKey, error, busy, send } = sending;
  return html`
    <${Card} title="Request">
      <div class="stack">
        <${Preview} body=${body} count=${count} idempotencyKey=${idempotencyKey} />
        ${error && html`<${ErrorBox} error=${error} />`}
        ${
          problems.length > 0 &&
          html`
            <ul class="stack small" aria-label="Still to do">
              ${problems.map((each) => html`<li class="soft" key=${each}>${each}</li>`)}
            </ul>
          `
        }
        <div class="row wraps">
          <${Button}
            kind="primary"
            icon="send"
            busy=${busy}
            disabled=${problems.length > 0}
            onClick=${send}
          >
            ${options.start ? "Schedule" : "Send"}
            ${count ? ` to ${plural(count, "recipient")}` : ""}
          <//>
          <${ToMe} body=${body} check=${check} disabled=${problems.length > 0} />
        </div>
      </div>
    <//>
  `;
}

const isWritten = (content, options, source, query) =>
  content !== emptyContent ||
  options !== emptyOptions ||
  source !== NO_SOURCE ||
  Object.keys(query).length > 0;

/** Keep what is written as a draft, and go back to the one that there was. */
function useKeptDraft(draft, former, isKept) {
  // An address without a choice leads back to the draft as it was; one with a choice adds to it
  useEffect(() => {
    if (former && !Object.keys(draft.query).length) setQuery(former.query);
  }, []);
  // At once: an effect that waits for the next frame is dropped when the page is left before it
  useLayoutEffect(() => {
    if (isKept) keepDraft(draft);
  }, Object.values(draft));
}

/** What sends the transmission, and what became of that. */
function useSending({ former, body, count, read, onSent }) {
  // The key stays while the answer is unknown (also 409: the first is in progress), so that sending
  // again sends nothing twice, also from a draft. After a refusal nothing was sent, and the
  // corrected request is another one
  const [idempotencyKey, setIdempotencyKey] = useState(() => former?.idempotencyKey ?? newKey());
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const send = async () => {
    if (
      count >= CONFIRMED_FROM &&
      !(await confirm({
        title: `Send to ${plural(count, "recipient")}?`,
        text: "Mail that is on its way cannot be called back.",
        action: "Send",
      }))
    )
      return;
    setBusy(true);
    setError(null);
    try {
      const { results } = await post(PATH, body, {
        query: QUERY,
        headers: { "Idempotency-Key": idempotencyKey },
      });
      const rows = count ? [...read.bad, ...badRows(results.rcpt_to_errors ?? [], read)] : [];
      onSent({ id: results.id, accepted: results.total_accepted_recipients, rows });
      dropDraft();
      go(["send", results.id]);
    } catch (problem) {
      if (problem.status >= 400 && problem.status < 500 && problem.status !== 409)
        setIdempotencyKey(newKey());
      setError(problem);
      setBusy(false);
    }
  };
  return { send, busy, error, idempotencyKey };
}

function emptyAction(onEmpty) {
  return async () => {
    if (
      !(await confirm({
        title: "Start again?",
        text: "What is written here is discarded.",
        action: "Discard",
      }))
    )
      return;
    dropDraft();
    go(["send"], {}, { replace: true });
    onEmpty();
  };
}

/** The same to oneself first, at once, with the data of the recipient that the preview shows. */
function ToMe({ body, check, disabled }) {
  const [open, setOpen] = useState(false);
  const { start_time: _start, ...options } = body.options ?? {};
  const { address, ...recipient } = check.recipients[check.chosen] ?? { address: {} };
  const bodyFor = (email) => ({
    ...body,
    options,
    recipients: [{ ...recipient, address: { ...address, email } }],
  });
  return html`
    <${Button} icon="user" disabled=${disabled} onClick=${() => setOpen(true)}>Send to me first<//>
    ${
      open &&
      html`
        <${SendTest}
          title="Send to me first"
          what="It"
          bodyFor=${bodyFor}
          onClose=${() => setOpen(false)}
        >
          It is sent at once${address.email ? ` with the data of ${address.email}` : ""}, as any
          other mail: it is counted and its events appear.
        <//>
      `
    }
  `;
}

/** A new idempotency key. Not randomUUID, which pages without TLS lack. */
function newKey() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return `console-${bytes.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

function Preview({ body, count, idempotencyKey }) {
  const [way, setWay] = useState("curl");
  const text = withoutData(body);
  const short =
    count > SHOWN_RECIPIENTS
      ? { ...text, recipients: body.recipients.slice(0, SHOWN_RECIPIENTS) }
      : text;
  const [, name] = LANGUAGES.find(([id]) => id === way) ?? LANGUAGES[0];
  const headers = { ...actingFor(), "Idempotency-Key": idempotencyKey };
  const example = exampleOf(way, { method: "POST", path: PATH, headers, body: short });
  return html`
    <div class="stack small">
      <${Tabs}
        label="The request in"
        tabs=${LANGUAGES}
        current=${way}
        onChange=${setWay}
        id="way"
      />
      <${TabPanel} current=${way} id="way"><${Code} text=${example} label="${name} request" /><//>
      ${
        count > SHOWN_RECIPIENTS &&
        html`
          <p class="soft">With the first ${SHOWN_RECIPIENTS} of ${plural(count, "recipient")}.</p>
        `
      }
      <p class="soft">
        The idempotency key makes it safe to repeat: the same key is not sent twice.
      </p>
    </div>
  `;
}
