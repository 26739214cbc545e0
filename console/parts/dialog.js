// Dialogs over the page: the browser's own, so that focus stays inside and Escape closes.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { question } from "../core/question.js";
import { Button, IconButton, TextField } from "./controls.js";
import { ErrorBox } from "./feedback.js";

/**
 * A dialog with a form. `onSubmit` may be async: the button waits, and what it throws is shown
 * until something is changed. A `plain` one is no form: what it holds may have some.
 */
export function Dialog({
  title,
  onClose,
  onSubmit,
  submit = "Save",
  danger,
  disabled,
  wide,
  plain,
  children,
  foot,
}) {
  const element = useRef();
  useEffect(() => {
    element.current.showModal();
    element.current
      .querySelector("[autofocus], .dialog-body input, .dialog-body select, .dialog-body textarea")
      ?.focus();
  }, []);
  const { send, error, busy, setError } = useSubmit(disabled, onSubmit, onClose);
  return html`
    <dialog
      ref=${element}
      class=${wide ? "wide" : ""}
      aria-label=${title}
      onClose=${onClose}
      onClick=${(event) => {
        if (event.target === element.current) element.current.close();
      }}
    >
      <${plain ? "div" : "form"}
        class="dialog"
        onSubmit=${plain ? undefined : send}
        onInput=${() => setError(null)}
        onChange=${() => setError(null)}
        novalidate=${plain ? undefined : true}
      >
        <${Head} title=${title} element=${element} />
        <div class="dialog-body" tabindex=${onSubmit || foot ? -1 : 0}>
          ${children}
          ${error && html`<${ErrorBox} error=${error} />`}
        </div>
        ${
          foot ??
          (onSubmit &&
            html`
              <${Foot}
                danger=${danger}
                busy=${busy}
                disabled=${disabled}
                submit=${submit}
                element=${element}
              />
            `)
        }
      <//>
    </dialog>
  `;
}

function Head({ title, element }) {
  return html`
    <div class="dialog-head">
      <h2>${title}</h2>
      <${IconButton}
        icon="x"
        label="Close"
        kind="ghost small"
        onClick=${() => element.current.close()}
      />
    </div>
  `;
}

function Foot({ danger, busy, disabled, submit, element }) {
  return html`
    <div class="dialog-foot">
      <${Button} onClick=${() => element.current.close()}>Cancel<//>
      <${Button}
        type="submit"
        kind="primary ${danger ? "danger" : ""}"
        busy=${busy}
        disabled=${disabled}
      >
        ${submit}
      <//>
    </div>
  `;
}

/** What sends the form: the dialog closes after it, or shows why it stays. */
function useSubmit(disabled, onSubmit, onClose) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const send = async (event) => {
    event.preventDefault();
    if (disabled || busy) return;
    setBusy(true);
    setError(null);
    try {
      if ((await onSubmit()) !== false) onClose();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return { send, error, busy, setError };
}

/**
 * Ask before something is destroyed. Resolves to whether it may be. With `typed`, that text must be
 * entered first.
 * @param {Api.Question} question
 * @returns {Promise<boolean>}
 */
export function confirm({ title, text, action = "Delete", typed }) {
  return new Promise((resolve) => {
    question.value = { title, text, action, typed, resolve };
  });
}

/** What was asked last, as long as it has no answer. */
export default function Questions() {
  const asked = question.value;
  return asked && html`<${Question} key=${asked.title} ...${asked} />`;
}

function Question({ title, text, action, typed, resolve }) {
  const [entry, setEntry] = useState("");
  const end = (answer) => {
    question.value = null;
    resolve(answer);
  };
  return html`
    <${Dialog}
      title=${title}
      submit=${action}
      danger
      disabled=${typed && entry !== typed}
      onClose=${() => end(false)}
      onSubmit=${() => {
        end(true);
        return false;
      }}
    >
      <p class="soft">${text}</p>
      ${
        typed &&
        html`
          <${TextField}
            label=${html`Type <code>${typed}</code> to go on`}
            value=${entry}
            onInput=${setEntry}
            autocomplete="off"
            spellcheck="false"
          />
        `
      }
    <//>
  `;
}
