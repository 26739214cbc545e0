// One sending IP: its pool, its warm-up, and what it sent on each day of it.
import { html, useState } from "../vendor/preact.js";
import { get, put } from "../core/api.js";
import { exactTime, number, share } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { Badge, Button, CheckField, SelectField, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded } from "../parts/feedback.js";

const pathOf = (address) => `api/v1/sending-ips/${encodeURIComponent(address)}`;

export function SendingIp({ ip, onEdit, onDays }) {
  const warmup = useResource(
    (signal) =>
      ip.auto_warmup_enabled
        ? get(`${pathOf(ip.external_ip)}/warmup`, undefined, { signal })
        : { results: {} },
    [ip.external_ip, ip.auto_warmup_enabled, ip.auto_warmup_stage],
  );
  const { today, last_stage: last } = warmup.data?.results ?? {};
  const hidden = html`<span class="visually-hidden"> ${ip.external_ip}</span>`;
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="strong mono">${ip.external_ip}</div>
        <div>${ip.hostname}</div>
      </div>
      <span class="row wraps">
        ${
          today
            ? html`
              <span class="soft num">
                ${number(today.sent)} of ${number(today.limit)} today (
                ${share(today.sent, today.limit)})
              </span>
              <${Badge} tone="info" icon="trending-up">Stage ${today.stage} of ${last}<//>
            `
            : html`
              <${Badge}
                tone=${ip.auto_warmup_enabled ? "" : "good"}
                icon=${ip.auto_warmup_enabled ? "clock" : "circle-check"}
              >
                ${ip.auto_warmup_enabled ? "Warming up" : "Warm"}
              <//>
            `
        }
        <${Button} kind="small" icon="calendar" onClick=${onDays}>Days${hidden}<//>
        ${
          onEdit &&
          html`<${Button} kind="small" icon="pencil" onClick=${onEdit}>Change${hidden}<//>`
        }
      </span>
    </li>
  `;
}

export function IpForm({ ip, pools, onClose, onSaved }) {
  const [pool, setPool] = useState(ip.pool);
  const [warming, setWarming] = useState(ip.auto_warmup_enabled);
  const [stage, setStage] = useState(String(ip.auto_warmup_stage ?? 1));
  const wasWarming = ip.auto_warmup_enabled;
  const problem = stageProblem({ warming, wasWarming, stage, ip });
  const save = async () => {
    const body = { ip_pool: pool, auto_warmup_enabled: warming };
    if (warming && wasWarming && Number(stage) !== ip.auto_warmup_stage)
      body.auto_warmup_stage = Number(stage);
    await put(pathOf(ip.external_ip), body);
    onSaved();
  };
  return html`
    <${Dialog}
      title="Change ${ip.external_ip}"
      disabled=${Boolean(problem)}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${SelectField}
        label="IP pool"
        value=${pool}
        onChange=${setPool}
        options=${pools.map((each) => [each.id, each.name])}
      />
      <${CheckField}
        toggle
        label="Warm-up"
        hint=${
          wasWarming
            ? "Without it, the IP may send any number of messages at once."
            : "Begins at stage 1: few messages on the first day, more on each day after it."
        }
        checked=${warming}
        onChange=${setWarming}
      />
      ${
        warming &&
        wasWarming &&
        html`
          <${TextField}
            label="Stage"
            type="number"
            min="1"
            max=${ip.auto_warmup_stage}
            value=${stage}
            onInput=${setStage}
            problem=${problem}
            hint="An earlier stage sends less. The IP is at stage ${ip.auto_warmup_stage}."
          />
        `
      }
    <//>
  `;
}

function stageProblem({ warming, wasWarming, stage, ip }) {
  return warming &&
    wasWarming &&
    !(
      Number(stage) >= 1 &&
      Number(stage) <= ip.auto_warmup_stage &&
      Number.isInteger(Number(stage))
    )
    ? `A stage from 1 to ${ip.auto_warmup_stage}`
    : "";
}

/** What an IP sent on each day of its warm-up, the latest first. */
export function WarmupDays({ address, onClose }) {
  const path = `${pathOf(address)}/warmup`;
  const resource = useResource((signal) => get(path, undefined, { signal }), [address]);
  return html`
    <${Dialog} wide title="Warm-up of ${address}" onClose=${onClose}>
      <${Loaded} resource=${resource}>
        ${({ results: warmup }) => {
          const { today, history } = warmup;
          const days = [...history].sort((a, b) => b.date.localeCompare(a.date));
          if (today && !days.some((each) => each.date === today.date)) days.unshift(today);
          return html`
            <div class="row apart wraps">
              <p class="soft">
                ${
                  warmup.auto_warmup_enabled
                    ? `Stage ${warmup.auto_warmup_stage} of ${warmup.last_stage}. The next ` +
                      `stage begins ${exactTime(warmup.next_stage_time)}.`
                    : "This IP is not warming up."
                }
              </p>
              <${CurlButton} path=${path} />
            </div>
            ${
              days.length
                ? html`<${Days} days=${days} />`
                : html`
                  <p class="soft">Nothing was sent during a warm-up in the last two months.</p>
                `
            }
          `;
        }}
      <//>
    <//>
  `;
}

function Days({ days }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Days of the warm-up">
      <table class="table">
        <thead>
          <tr>
            <th>Day (UTC)</th>
            <th class="right">Stage</th>
            <th class="right">Sent</th>
            <th class="right">Limit</th>
            <th>Share</th>
          </tr>
        </thead>
        <tbody>
          ${days.map(
            (each) => html`
              <tr key=${each.date}>
                <td class="nowrap num">${each.date}</td>
                <td class="right">${each.stage}</td>
                <td class="right">${number(each.sent)}</td>
                <td class="right">${number(each.limit)}</td>
                <td>
                  <div class="row">
                    <div class="progress grow day-bar" aria-hidden="true">
                      <i
                        style=${{
                          width: `${Math.min(100, (100 * each.sent) / each.limit)}%`,
                        }}
                      ></i>
                    </div>
                    <span class="num soft">${share(each.sent, each.limit)}</span>
                  </div>
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}
