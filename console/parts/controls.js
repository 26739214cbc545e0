// Small controls: icons, badges, copyable texts, times, fields.
import { html, useEffect, useId, useState } from "../vendor/preact.js";
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
