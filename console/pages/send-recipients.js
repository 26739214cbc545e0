// Who gets it: recipients typed or from CSV, or a recipient list.
import { html } from "../vendor/preact.js";
import { setQuery } from "../core/router.js";
import { RecipientsField } from "../parts/csv.js";
import { Notice } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { Segments } from "../parts/tabs.js";
import { isToList, mayUseLists, takesMany } from "./send-body.js";
import { Choice } from "./send-content.js";

const WAYS = [
  ["here", "Typed or CSV"],
  ["list", "Recipient list"],
];

export function RecipientsForm({ query, onChange, source, onSource }) {
  const way = isToList(query) ? "list" : "here";
  return html`
    <${Card}
      title="Recipients"
      actions=${
        mayUseLists() &&
        takesMany(query) &&
        html`
          <${Segments}
            label="Where recipients come from"
            options=${WAYS}
            value=${way}
            onChange=${(each) => setQuery({ to: each === "list" ? "list" : "", list: "" })}
          />
        `
      }
    >
      ${
        way === "list"
          ? html`
            <${Choice}
              name="list"
              label="Recipient list"
              path="api/v1/recipient-lists"
              value=${query.list}
              none="There is no recipient list yet. Make one under Audience."
            />
          `
          : html`
            <div class="stack">
              ${
                !takesMany(query) &&
                html`
                  <${Notice}>
                    An A/B test takes one recipient in each transmission: name one here. For an
                    audience, a program makes the request once for each recipient.
                  <//>
                `
              }
              <${RecipientsField} onChange=${onChange} source=${source} onSource=${onSource} />
            </div>
          `
      }
    <//>
  `;
}
