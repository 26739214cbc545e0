// What tells people how things went: toasts, errors, empty pages, the shapes of what loads.
import { html, signal } from "../vendor/preact.js";
import { Button, Icon } from "./controls.js";

const toasts = signal(/** @type {Array<{id: number, text: string, tone: string}>} */ ([]));
let next = 1;

/** Say something for some seconds; screen readers speak it. `tone`: good or bad. */
export function toast(text, tone = "good") {
  const id = next++;
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
  setTimeout(
    () => {
      toasts.value = toasts.value.filter((each) => each.id !== id);
    },
    tone === "bad" ? 9000 : 4000,
  );
}

export function Toasts() {
  return html`
    <div class="toasts" role="status" aria-live="polite">
      ${toasts.value.map(
        (each) => html`
          <div class="toast ${each.tone}" key=${each.id}>
            <${Icon} name=${each.tone === "bad" ? "circle-alert" : "circle-check"} />
            <span class="wrap">${each.text}</span>
          </div>
        `,
      )}
    </div>
  `;
}

/** Do something that may fail, and say so if it does. Returns whether it worked. */
export async function attempt(work, done) {
  try {
    await work();
    if (done) toast(done);
    return true;
  } catch (error) {
    toast(error.message, "bad");
    return false;
  }
}

export function Notice({ tone = "", icon = "info", children }) {
  return html`
    <div class="notice ${tone}">
      <${Icon} name=${icon} />
      <div class="grow wrap">${children}</div>
    </div>
  `;
}

/** What went wrong, what to do about it, and behind a click what the API said word for word. */
export function ErrorBox({ error, retry }) {
  return html`
    <div class="notice bad" role="alert">
      <${Icon} name="circle-alert" />
      <div class="grow wrap">
        <p class="strong">${error.message}</p>
        ${error.texts?.slice(1, 6).map((each) => html`<p>${each}</p>`)}
        ${error.hint && html`<p>${error.hint}</p>`}
        ${
          error.status >= 500 &&
          error.requestId &&
          html`<p>Request <code>${error.requestId}</code></p>`
        }
        ${
          error.said &&
          html`
            <details class="said">
              <summary>What the API answered</summary>
              <pre>${error.said}</pre>
            </details>
          `
        }
      </div>
      ${retry && html`<${Button} kind="small" icon="rotate-ccw" onClick=${retry}>Try again<//>`}
    </div>
  `;
}

/** An empty page or list: what would be here, and one way to get it. */
export function Empty({ icon = "inbox", title, children, actions, level = 2 }) {
  const heading = level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`;
  return html`
    <div class="empty">
      <div class="mark"><${Icon} name=${icon} /></div>
      ${heading}
      ${children && html`<p>${children}</p>`}
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
  `;
}

export function Skeleton({ width = "100%", height = 14 }) {
  return html`
    <span class="skeleton" aria-hidden="true" style=${{ width, height: `${height}px` }}></span>
  `;
}

/** The shape of a list that loads. */
export function SkeletonRows({ rows = 6, height = 48 }) {
  return html`
    <div role="status">
      <span class="visually-hidden">Loading</span>
      ${Array.from(
        { length: rows },
        (_, index) => html`
          <div class="row" style=${{ height: `${height}px`, padding: "0 16px" }}>
            <${Skeleton} width="${22 + ((index * 7) % 12)}%" />
            <${Skeleton} width="${38 + ((index * 13) % 24)}%" />
            <span class="grow"></span>
            <${Skeleton} width="56px" />
          </div>
        `,
      )}
    </div>
  `;
}

/** Show `children(data)` of a resource, its shape while it loads, or its error. */
export function Loaded({ resource, children, shape }) {
  if (resource.error && resource.data === undefined)
    return html`<${ErrorBox} error=${resource.error} retry=${resource.reload} />`;
  if (resource.data === undefined) return shape ?? html`<${SkeletonRows} />`;
  return html`
    ${resource.error && html`<${ErrorBox} error=${resource.error} retry=${resource.reload} />`}
    ${children(resource.data)}
  `;
}
