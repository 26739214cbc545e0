// Small controls: icons, badges, copyable texts, times, fields, tabs.
import { html, useEffect, useId, useRef, useState } from "../vendor/preact.js";
import { icons } from "../vendor/icons.js";
import { ago, exactTime } from "../core/format.js";
import { toast } from "./feedback.js";

export function Icon({ name, class: extra = "", label }) {
  return html`
    <svg
      class="icon ${extra}"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      role=${label ? "img" : undefined}
      aria-label=${label}
      aria-hidden=${label ? undefined : "true"}
      dangerouslySetInnerHTML=${{ __html: icons[name] ?? "" }}
    ></svg>
  `;
}

/**
 * A button, or a link that looks like one if it has `href`. `kind`: primary, danger, ghost, small,
 * square.
 */
export function Button({ icon, kind = "", href, busy, children, ...rest }) {
  const inside = html`
    ${
      busy
        ? html`<${Icon} name="loader" class="spinner" />`
        : icon && html`<${Icon} name=${icon} />`
    }
    ${children}
  `;
  if (href) return html`<a class="button ${kind}" href=${href} ...${rest}>${inside}</a>`;
  return html`
    <button type="button" class="button ${kind}" ...${rest} disabled=${rest.disabled || busy}>
      ${inside}
    </button>
  `;
}

/** A button with an icon only; `label` names it. */
export function IconButton({ icon, label, kind = "ghost", ...rest }) {
  return html`
    <${Button} icon=${icon} kind="${kind} square" aria-label=${label} title=${label} ...${rest} />
  `;
}

export function Badge({ tone = "", icon, children, ...rest }) {
  return html`
    <span class="badge ${tone}" ...${rest}>
      ${icon && html`<${Icon} name=${icon} />`}
      ${children}
    </span>
  `;
}

/** A time as people say it; the exact one on hover. */
export function Time({ at }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) tick((n) => n + 1);
    }, 15000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return html`<span class="faint">–</span>`;
  return html`
    <time class="nowrap num" datetime=${new Date(at).toISOString()} title=${exactTime(at)}>
      ${ago(at)}
    </time>
  `;
}

export async function copy(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    toast("The browser does not allow copying here", "bad");
  }
}

/** An id or another text that a click copies. */
export function Copyable({ text, children, class: extra = "mono" }) {
  return html`
    <button
      type="button"
      class="copyable ${extra}"
      title="Copy ${text}"
      onClick=${(event) => {
        event.stopPropagation();
        event.preventDefault();
        copy(text);
      }}
    >
      <span class="clip">${children ?? text}</span>
      <${Icon} name="copy" />
      <span class="visually-hidden">, copy</span>
    </button>
  `;
}

/** A labelled field around one input; the input gets its id and what describes it. */
export function Field({ label, hint, problem, children, optional }) {
  const id = useId();
  const described =
    [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  return html`
    <div class="field">
      <label class="label" for=${id}>
        ${label}
        ${optional && html` <span class="faint">(optional)</span>`}
      </label>
      ${children({
        id,
        "aria-describedby": described,
        "aria-invalid": problem ? "true" : undefined,
      })}
      ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
      ${problem && html`<p class="problem" id="${id}-problem">${problem}</p>`}
    </div>
  `;
}

export function TextField({
  label,
  hint,
  problem,
  optional,
  value,
  onInput,
  multiline,
  class: extra = "",
  ...rest
}) {
  return html`
    <${Field} label=${label} hint=${hint} problem=${problem} optional=${optional}>
      ${(props) =>
        multiline
          ? html`
            <textarea
              class="input ${extra}"
              rows=${rest.rows ?? 4}
              ...${props}
              ...${rest}
              value=${value}
              onInput=${(e) => onInput(e.target.value)}
            ></textarea>
          `
          : html`
            <input
              class="input ${extra}"
              ...${props}
              ...${rest}
              value=${value}
              onInput=${(e) => onInput(e.target.value)}
            />
          `}
    <//>
  `;
}

/** `options`: `[[value, text], ...]`. */
export function SelectField({
  label,
  hint,
  problem,
  value,
  onChange,
  options,
  hideLabel,
  ...rest
}) {
  const select = (props) => html`
    <select
      class="input"
      ...${props}
      ...${rest}
      value=${value}
      onChange=${(e) => onChange(e.target.value)}
    >
      ${options.map(
        ([each, text]) => html`<option value=${each} selected=${each === value}>${text}</option>`,
      )}
    </select>
  `;
  if (hideLabel) return select({ "aria-label": label });
  return html`<${Field} label=${label} hint=${hint} problem=${problem}>${select}<//>`;
}

export function CheckField({ label, hint, checked, onChange, toggle, ...rest }) {
  return html`
    <label class="check">
      <input
        type="checkbox"
        class=${toggle ? "switch" : ""}
        role=${toggle ? "switch" : undefined}
        checked=${checked}
        onChange=${(e) => onChange(e.target.checked)}
        ...${rest}
      />
      <span><span>${label}</span>${hint && html`<span class="soft"><br />${hint}</span>`}</span>
    </label>
  `;
}

/** A search field. `/` leads to the page's own, the one with a `shortcut`; Escape empties it. */
export function SearchField({
  value,
  onInput,
  label,
  placeholder = label,
  shortcut = true,
  inputRef,
}) {
  const own = useRef();
  const input = inputRef ?? own;
  return html`
    <div class="search" role=${shortcut ? "search" : undefined}>
      <${Icon} name="search" />
      <input
        ref=${input}
        class="input"
        type="search"
        aria-label=${label}
        placeholder=${placeholder}
        value=${value}
        spellcheck="false"
        autocomplete="off"
        onInput=${(e) => onInput(e.target.value)}
        onKeyDown=${(e) => {
          if (e.key === "Escape") {
            onInput("");
            e.target.blur();
          }
        }}
        data-search=${shortcut ? "" : undefined}
      />
      ${shortcut && !value && html`<kbd aria-hidden="true">/</kbd>`}
    </div>
  `;
}

/** Tabs: `[[id, text, count?], ...]`. Arrow keys move between them; the panel is a `TabPanel`. */
export function Tabs({ tabs, current, onChange, label, id = "tab" }) {
  const list = useRef();
  // On a phone there may be more tabs than fit: the current one is in sight
  useEffect(() => {
    const { offsetLeft = 0, offsetWidth = 0 } =
      list.current.querySelector('[aria-selected="true"]') ?? {};
    const left = offsetLeft - list.current.offsetLeft;
    const { scrollLeft, clientWidth } = list.current;
    if (left < scrollLeft || left + offsetWidth > scrollLeft + clientWidth)
      list.current.scrollLeft = left;
  }, [current]);
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = (tabs.findIndex(([each]) => each === current) + step + tabs.length) % tabs.length;
    onChange(tabs[index][0]);
    list.current.children[index].focus();
  };
  return html`
    <div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
      ${tabs.map(
        ([each, text, count]) => html`
          <button
            type="button"
            role="tab"
            id="${id}-${each}"
            key=${each}
            aria-selected=${each === current ? "true" : "false"}
            aria-controls=${each === current ? `${id}-panel` : undefined}
            tabindex=${each === current ? 0 : -1}
            onClick=${() => onChange(each)}
          >
            ${text}
            ${
              count !== undefined && count !== null && html`<span class="count num">${count}</span>`
            }
          </button>
        `,
      )}
    </div>
  `;
}

export function TabPanel({ current, id = "tab", children, class: extra = "", ...rest }) {
  return html`
    <div
      role="tabpanel"
      id="${id}-panel"
      aria-labelledby="${id}-${current}"
      class=${extra}
      ...${rest}
    >
      ${children}
    </div>
  `;
}

/**
 * A choice of a few: `[[value, text, icon?], ...]`. With `iconsOnly` the text is the name of the
 * icon.
 */
export function Segments({ options, value, onChange, label, iconsOnly }) {
  return html`
    <div class="segments" role="group" aria-label=${label}>
      ${options.map(
        ([each, text, icon]) => html`
          <button
            type="button"
            key=${each}
            aria-pressed=${each === value ? "true" : "false"}
            title=${iconsOnly ? text : undefined}
            aria-label=${iconsOnly ? text : undefined}
            onClick=${() => onChange(each)}
          >
            ${icon && html`<${Icon} name=${icon} />`}
            ${!iconsOnly && text}
          </button>
        `,
      )}
    </div>
  `;
}
