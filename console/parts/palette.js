// The command palette: every page and action by a few letters, and recipients and messages.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { searches } from "../core/find.js";
import { go } from "../core/router.js";
import { may } from "../core/service.js";
import { theme } from "../core/session.js";
import { Icon } from "./controls.js";

/** `available` are the pages, `themes` the triples of the frame, `setHelp(true)` shows the help. */
export default function Palette({ available, themes, setHelp, signOut, onClose }) {
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const dialog = useRef();
  const commands = commandsOf({ available, themes, setHelp, signOut });
  const found = [
    ...commands.filter((each) => matches(each.label, text)),
    ...leadsOf(available, text),
  ];
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
      <${Results} ...${{ found, index, run, setIndex }} />
      ${!found.length && html`<p class="empty">Nothing is called “${text}”</p>`}
    </dialog>
  `;
}

function Results({ found, index, run, setIndex }) {
  return html`
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

/** More commands, which lead to what has this text on the pages that are there. */
const leadsOf = (available, text) =>
  searches(text)
    .filter(({ page, grant }) => may(grant) && available.some(({ id }) => id === page))
    .map((each) => ({ ...each, run: () => go(each.path, each.query) }));

/** `[{label, icon, run, keys?}]` */
function commandsOf({ available, themes, setHelp, signOut }) {
  return [
    ...available.map((each) => ({
      label: each.label,
      icon: each.icon,
      run: () => go([each.id]),
      keys: each.key && ["g", each.key],
    })),
    ...available.flatMap((each) =>
      (each.actions ?? []).map((action) => ({
        ...action,
        run: () => go(action.path, action.query),
      })),
    ),
    ...themes.map(([id, label, icon]) => ({
      label,
      icon,
      run: () => {
        theme.value = id;
      },
    })),
    { label: "Keyboard shortcuts", icon: "keyboard", run: () => setHelp(true), keys: ["?"] },
    { label: "Sign out", icon: "log-out", run: signOut },
  ];
}
