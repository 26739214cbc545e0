// Tabs, and a row of buttons of which one is pressed.
import { html, useEffect, useRef } from "../vendor/preact.js";
import { Icon } from "./controls.js";

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
