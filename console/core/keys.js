// The keyboard: `g` and a letter goes to a page, single letters act, fields keep their own keys.
import { useEffect, useRef } from "../vendor/preact.js";

const handlers = new Set();
let goBefore = 0;

/** Letter after `g` → function. The shell fills it from the pages. */
export const destinations = new Map();

/** Handle keys while a component is there: `{"/": focusSearch}`. The component last shown wins. */
export function useKeys(bindings) {
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => {
    const handler = (name, event) => {
      const action = latest.current[name];
      if (!action) return false;
      event.preventDefault();
      action(event);
      return true;
    };
    handlers.add(handler);
    return () => handlers.delete(handler);
  }, []);
}

window.addEventListener("keydown", (event) => {
  const command = event.metaKey || event.ctrlKey;
  const name = command ? `mod+${event.key.toLowerCase()}` : event.key;
  if (event.altKey || event.isComposing) return;
  const inDialog = document.querySelector("dialog[open]");
  const target = /** @type {Element} */ (event.target);
  if (inDialog && !inDialog.contains(target)) return;
  // Outside a shadow root, its host is the target of what happens in it.
  if (!command && (isField(event.composedPath()[0]) || inDialog)) return;
  const afterG = event.timeStamp - goBefore < 1200;
  goBefore = 0;
  if (afterG && destinations.has(name)) {
    event.preventDefault();
    destinations.get(name)();
    return;
  }
  if (name === "g") {
    goBefore = event.timeStamp;
    return;
  }
  if (name === "Enter" && target.closest?.("a, button, summary")) return;
  for (const handler of [...handlers].reverse()) if (handler(name, event)) return;
});

function isField(element) {
  return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName ?? "");
}
