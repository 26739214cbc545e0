// A transmission on its way: its state, and what became of its messages, until the last has a fate.
import { html, useEffect, useRef } from "../vendor/preact.js";
import { get, remove } from "../core/api.js";
import { exactTime, number, plural, share } from "../core/format.js";
import { useLive } from "../core/live.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { local, may, who } from "../core/service.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { BadRows, Progress } from "../parts/csv.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded, Notice } from "../parts/feedback.js";
import { pageHref } from "../parts/links.js";
import { Card, PageHead, Tiles } from "../parts/page.js";
import { Reasons } from "./send-reasons.js";
import { SentContent } from "./send-sent.js";

const TEN_DAYS = 10 * 86400000;
/** Seconds between two looks: while something happens, and at most, if nothing does. */
const OFTEN = 2;
const SELDOM = 30;

/** State of the API → its text, tone and icon. */
const STATES = {
  submitted: ["Scheduled", "info", "clock"],
  Generating: ["Sending", "info", "loader"],
  Success: ["Generated", "good", "circle-check"],
  Canceled: ["Cancelled", "warn", "ban"],
};

/**
 * Tile → the types of events that are counted in it. Each message ends in one of the first three.
 */
const FATES = [
  ["Delivered", "delivery"],
  ["Bounced", "bounce"],
  ["Rejected or failed", "policy_rejection,generation_failure,generation_rejection"],
  ["Delayed", "delay"],
  ["Opened", "initial_open"],
  ["Clicked", "click"],
];
const FINAL = 3;
const FAILURES = FATES.slice(1, FINAL);
const FAILED = ["Failed", "bad", "circle-x"];

const since = () => new Date(Date.now() - TEN_DAYS).toISOString().slice(0, 19);

async function load(id, signal) {
  const window = { from: since(), to: new Date(Date.now() + 60000).toISOString().slice(0, 19) };
  const [transmission, byType] = await Promise.all([
    may("transmissions/view") &&
      get(`api/v1/transmissions/${encodeURIComponent(id)}`, undefined, { signal }).then(
        ({ results }) => results.transmission,
      ),
    may("message_events/view") &&
      get("api/v1/events/message/counts", { ...window, transmissions: id }, { signal }).then(
        ({ results }) => results,
      ),
  ]);
  const count = (types) => types.split(",").reduce((sum, type) => sum + (byType[type] ?? 0), 0);
  return {
    transmission: transmission || null,
    counts: byType ? FATES.map(([, types]) => count(types)) : null,
  };
}

/**
 * How far a transmission is, and whether every message of it `failed`. Without counts, nothing is
 * seen to happen after its generation.
 */
function extent({ transmission, counts }, report) {
  const total = transmission?.num_rcpts ?? report?.accepted ?? 0;
  const ended = counts ? counts.slice(0, FINAL).reduce((sum, each) => sum + each, 0) : 0;
  const over =
    transmission?.state === "Canceled" ||
    (counts ? total > 0 && ended >= total : transmission?.state === "Success" || !transmission);
  const failures = counts ? ended - counts[0] : 0;
  return {
    total,
    ended: Math.min(total, ended),
    over,
    failures,
    failed: over && failures > 0 && counts[0] === 0,
  };
}

export function SendProgress({ id, report }) {
  const resource = useResource((signal) => load(id, signal), [id]);
  const over = resource.data ? extent(resource.data, report).over : resource.error?.status === 404;
  const mark = useLooks(resource, over);
  useLive({
    event: (event) => {
      if (event.transmission_id === id) mark();
    },
    gap: mark,
  });
  const path = `api/v1/transmissions/${encodeURIComponent(id)}`;
  return html`
    <div class="page">
      <${PageHead} title="Transmission" back=${["Send", href(["send"])]}>
        <${CurlButton} path=${path} />
        ${
          may("transmissions/modify") &&
          html`<${Button} icon="plus" href=${href(["send"])}>New transmission<//>`
        }
      <//>
      ${
        report &&
        html`
          <${Notice} tone="good" icon="circle-check">
            ${plural(report.accepted, "recipient")} accepted.
          <//>
          <${BadRows} rows=${report.rows} />
        `
      }
      <${Loaded} resource=${resource}>
        ${(data) => html`
          <${Fates} id=${id} data=${data} report=${report} reload=${resource.reload} />
        `}
      <//>
      ${may("transmissions/view") && resource.data && html`<${SentContent} id=${id} />`}
    </div>
  `;
}

/**
 * Look again until it is `over`: soon while the answer changes, ever less often while it does not.
 * What is returned asks for one more look, for events that come by the thousand as for the last
 * opening.
 */
function useLooks({ data, loading, reload }, over) {
  const timer = useRef(0);
  const wait = useRef(OFTEN);
  const wanted = useRef(false);
  const answer = JSON.stringify(data);
  const former = useRef(answer);
  const look = (seconds) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (document.hidden) look(seconds);
      else {
        wanted.current = false;
        reload();
      }
    }, seconds * 1000);
  };
  useEffect(() => {
    if (loading) return undefined;
    wait.current =
      answer === former.current && !wanted.current ? Math.min(SELDOM, 1.5 * wait.current) : OFTEN;
    former.current = answer;
    if (!over || wanted.current) look(wait.current);
    return () => clearTimeout(timer.current);
  }, [loading, over]);
  return () => {
    if (!wanted.current && !loading) look(OFTEN);
    wanted.current = true;
  };
}

function Fates({ id, data, report, reload }) {
  const { transmission, counts } = data;
  const { total, ended, over, failures, failed } = extent(data, report);
  const [text, tone, icon] = failed
    ? FAILED
    : (STATES[transmission?.state] ?? ["Accepted", "", "circle"]);
  const cancel = cancelAction(reload, id);
  const activity = (events) => pageHref(["activity"], { transmissions: id, hours: "240", events });
  return html`
    <${Card}
      title=${!counts ? "State" : failed ? "Failed" : over ? "Done" : "On its way"}
      actions=${html`
        <span class="row">
          <${Badge} tone=${tone} icon=${icon}>${text}<//>
          ${
            transmission?.state === "submitted" &&
            may("transmissions/modify") &&
            html`<${Button} kind="small danger" icon="ban" onClick=${cancel}>Cancel<//>`
          }
        </span>
      `}
    >
      <div class="stack">
        ${
          failed &&
          html`
            <${Notice} tone="bad" icon="circle-x">No message of this transmission was delivered.<//>
          `
        }
        ${!transmission && !counts && html`<${NotSeen} />`}
        ${
          counts &&
          html`<${Progress} label="Delivered, bounced or rejected" done=${ended} total=${total} />`
        }
        ${transmission && html`<${Facts} id=${id} transmission=${transmission} />`}
        <${Links} activity=${activity} />
      </div>
    <//>
    ${counts && html`<${FateTiles} counts=${counts} total=${total} activity=${activity} />`}
    ${
      failures > 0 &&
      html`
        <${Reasons}
          id=${id}
          types=${FAILURES.map(([, types]) => types).join(",")}
          from=${since()}
          count=${failures}
        />
      `
    }
  `;
}

function FateTiles({ counts, total, activity }) {
  return html`
    <${Tiles}
      tiles=${FATES.map(([label, events], index) => ({
        label,
        value: number(counts[index]),
        note: share(counts[index], total),
        href: activity(events),
      }))}
    />
  `;
}

function Links({ activity }) {
  return html`
    <div class="row wraps">
      ${
        activity() &&
        html`<${Button} kind="small" icon="activity" href=${activity()}>All of its events<//>`
      }
      ${
        local.value &&
        html`<${Button} kind="small" icon="inbox" href=${href(["mailbox"])}>Mailbox<//>`
      }
    </div>
  `;
}

function NotSeen() {
  return html`
    <${Notice} icon="key">
      ${who()} may not see what becomes of it. That takes the grant
      <code>message_events/view</code>, or <code>transmissions/view</code> for its state.
    <//>
  `;
}

function Facts({ id, transmission }) {
  return html`
    <dl class="facts">
      <dt>Id</dt>
      <dd><${Copyable} text=${id} /></dd>
      <dt>Recipients</dt>
      <dd class="num">${number(transmission.num_rcpts)}</dd>
      <dt>Generated</dt>
      <dd class="num">${number(transmission.num_generated ?? 0)}</dd>
      ${
        transmission.num_failed_gen > 0 &&
        html`<dt>Failed</dt><dd class="num">${number(transmission.num_failed_gen)}</dd>`
      }
      ${transmission.campaign_id && html`<dt>Campaign</dt><dd>${transmission.campaign_id}</dd>`}
      ${transmission.description && html`<dt>Description</dt><dd>${transmission.description}</dd>`}
      ${
        transmission.generation_start_time &&
        html`<dt>Start</dt><dd>${exactTime(transmission.generation_start_time)}</dd>`
      }
    </dl>
  `;
}

function cancelAction(reload, id) {
  return async () => {
    if (
      !(await confirm({
        title: "Cancel this transmission?",
        text: "None of its messages is sent.",
        action: "Cancel transmission",
      }))
    )
      return;
    if (await attempt(() => remove(`api/v1/transmissions/${encodeURIComponent(id)}`), "Cancelled"))
      reload();
  };
}
