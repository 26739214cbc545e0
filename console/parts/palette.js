// The command palette: every page and action by a few letters, and recipients and messages.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Icon } from "./controls.js";

/**
 * `commands`: `[{label, icon, run, keys?}]`; `find(text)` returns more of them, which lead to what
 * has this text.
 */
export function Palette({ commands, find, onClose }) {
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const dialog = useRef();
  const found = [...commands.filter((each) => matches(each.label, text)), ...find(text)];
  useEffect(() => dialog.current.showModal(), []);
  useEffect(() => {
    dialog.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [index]);
  const run = (command) => {
    dialog.current.close();
    command?.run();
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setIndex((index + step + found.length) % Math.max(1, found.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      run(found[index]);
    }
  };
  return html`
    <dialog
      class="palette"
      ref=${dialog}
      onClose=${onClose}
      aria-label="Command palette"
      onClick=${(event) => {
        if (event.target === dialog.current) dialog.current.close();
      }}
    >
      <${Input}
        found=${found}
        index=${index}
        text=${text}
        press=${press}
        setText=${setText}
        setIndex=${setIndex}
      />
      <ul role="listbox" id="palette-list" aria-label="Results">
        ${found.map(
          (each, number) => html`
            <${Option}
              key=${each.label}
              number=${number}
              command=${each}
              index=${index}
              run=${run}
              setIndex=${setIndex}
            />
          `,
        )}
      </ul>
      ${!found.length && html`<p class="empty">Nothing is called “${text}”</p>`}
    </dialog>
  `;
}

function Option({ number, command, index, run, setIndex }) {
  return html`
    <li
      role="option"
      id="palette-${number}"
      aria-selected=${number === index ? "true" : "false"}
      onClick=${() => run(command)}
      onMouseMove=${() => setIndex(number)}
    >
      <${Icon} name=${command.icon} />
      <span class="clip">${command.label}</span>
      <span>${(command.keys ?? []).map((key) => html`<kbd>${key}</kbd>`)}</span>
    </li>
  `;
}

function Input({ found, index, text, press, setText, setIndex }) {
  return html`
    <input
      role="combobox"
      aria-label="Search pages, actions, recipients and messages"
      placeholder="Go to a page, or find a recipient or message…"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${found[index] ? `palette-${index}` : undefined}
      value=${text}
      onKeyDown=${press}
      autocomplete="off"
      spellcheck="false"
      onInput=${(event) => {
        setText(event.target.value);
        setIndex(0);
      }}
    />
  `;
}

/** Whether the letters of `text` occur in `label` in this order. */
function matches(label, text) {
  const lower = label.toLowerCase();
  let at = 0;
  for (const letter of text.toLowerCase().replaceAll(" ", "")) {
    at = lower.indexOf(letter, at) + 1;
    if (!at) return false;
  }
  return true;
}
