// The overview of a key or person who may read nothing of the last day: what they may do, and how.
import { html } from "../vendor/preact.js";
import { label } from "../core/format.js";
import { loadGrants } from "../core/grants.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { grants, may, who } from "../core/service.js";
import { person } from "../core/session.js";
import { Button } from "../parts/controls.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import FirstSend from "./first-send.js";
import { EndingKeys } from "./overview-ending.js";
import { mayOpen, PAGES, SENDING } from "./registry.js";

const WORDS = {
  "transmissions/modify": "Send by the HTTP API, and cancel what has not started",
  "transmissions/view": "Read transmissions: their state and what they sent",
  "smtp/inject": "Send by SMTP",
  "events/ingest": "Upload events of other senders",
};
const inWords = (grant) => WORDS[grant] ?? label(grant.replace("/", ": "));
const pageOf = (grant) =>
  PAGES.find((page) => page.grant && [page.grant].flat().includes(grant) && mayOpen(page));

export default function KeyOverview() {
  return html`
    <div class="page">
      <${PageHead}
        title="Overview"
        about=${
          person.value
            ? "What your role may do. Figures and events take other grants."
            : "What this key may do. It may not read figures or events: " +
              "that takes a key with other grants."
        }
      />
      <${Card} title="${who()} may" flush><${Abilities} /><//>
      <${EndingKeys} />
      ${may(SENDING) && html`<${FirstSend} title="How to send" />`}
    </div>
  `;
}

function Abilities() {
  const resource = useResource((signal) => loadGrants(signal));
  return html`
    <${Loaded} resource=${resource}>
      ${(used) => html`
        <${List} all=${used.map((each) => each.key).filter((each) => grants.value.has(each))} />
      `}
    <//>
  `;
}

function List({ all }) {
  if (!all.length)
    return html`
      <${Empty} level=${3} icon="key" title="Nothing">
        There are no grants that are in use here.
      <//>
    `;
  return html`
    <ul class="items" aria-label="Grants">
      ${all.sort().map((grant) => {
        const page = pageOf(grant);
        return html`
          <li key=${grant} class="wraps">
            <div class="grow">
              <div class="strong">${inWords(grant)}</div>
              <div><code>${grant}</code></div>
            </div>
            ${
              page &&
              html`
                <${Button} kind="small" icon=${page.icon} href=${href([page.id])}>${page.label}<//>
              `
            }
          </li>
        `;
      })}
    </ul>
  `;
}
