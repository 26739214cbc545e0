// The head of a page: its title, a sentence about it, and what can be done on it.
import { html } from "../vendor/preact.js";
import { Icon } from "./controls.js";

/** One that `keeps` stays in view, on a phone what has the class "kept" in it. */
export function PageHead({ title, about, back, keeps, children }) {
  return html`
    <header class="page-head ${keeps ? "keeps" : ""}">
      <div class="titles">
        ${back && html`<a class="back" href=${back[1]}><${Icon} name="arrow-left" />${back[0]}</a>`}
        <h1>${title}</h1>
        ${about && html`<p>${about}</p>`}
      </div>
      ${children}
    </header>
  `;
}

export function Card({ title, actions, children, flush, level = 2 }) {
  return html`
    <section class="card">
      ${
        (title || actions) &&
        html`
          <header>
            ${level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`}
            ${actions}
          </header>
        `
      }
      ${flush ? children : html`<div class="body">${children}</div>`}
    </section>
  `;
}

/** Figures side by side. `tiles`: `[{label, value, note, href?, color?}]`. */
export function Tiles({ tiles }) {
  return html`
    <div class="tiles">
      ${tiles.map((each) => {
        const inside = html`
          <span class="label">
            ${each.color && html`<i class="dot" style=${{ background: each.color }}></i>`}
            ${each.label}
          </span>
          <span class="value">${each.value}</span>
          <span class="note">${each.note}</span>
        `;
        return each.href
          ? html`<a class="tile" key=${each.label} href=${each.href}>${inside}</a>`
          : html`<div class="tile" key=${each.label}>${inside}</div>`;
      })}
    </div>
  `;
}
