// What happens as it happens: the local runtime's stream, or asking again where there is none.
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { address } from "./api.js";
import { local } from "./service.js";
import { useInterval } from "./resource.js";

/** @type {EventSource | null} */
let source = null;
const listeners = new Map();
const states = new Set();

/**
 * Call `handlers[name](data)` for what the stream tells: `message`, `event`, `mailbox`, `webhook`,
 * and `gap` when something was missed. Without a stream, call `poll` every `seconds`. Returns
 * whether the stream is connected.
 * @param {Record<string, (data: any) => unknown>} handlers
 * @param {{poll?: () => unknown, seconds?: number, paused?: boolean}} [options]
 */
export function useLive(handlers, { poll, seconds = 10, paused = false } = {}) {
  const latest = useRef(handlers);
  latest.current = handlers;
  const [on, setOn] = useState(source?.readyState === 1);
  useEffect(() => {
    if (!local.value || paused) return undefined;
    const remove = Object.keys(handlers).map((name) =>
      listen(name, (data) => latest.current[name]?.(data)),
    );
    states.add(setOn);
    connect();
    setOn(source?.readyState === 1);
    return () => {
      remove.forEach((each) => each());
      states.delete(setOn);
      if (!states.size) {
        source?.close();
        source = null;
      }
    };
  }, [local.value, paused]);
  useInterval(poll ?? (() => {}), poll && !paused && local.value === false ? seconds : 0);
  return on && !paused;
}

function connect() {
  if (source) return;
  source = new EventSource(address("local/stream"));
  const tell = () => states.forEach((each) => each(source?.readyState === 1));
  source.onopen = tell;
  source.onerror = tell;
  for (const name of listeners.keys()) subscribe(name);
}

function listen(name, listener) {
  if (!listeners.has(name)) {
    listeners.set(name, new Set());
    if (source) subscribe(name);
  }
  listeners.get(name).add(listener);
  return () => listeners.get(name).delete(listener);
}

function subscribe(name) {
  source?.addEventListener(name, (event) => {
    const data = event.data ? JSON.parse(event.data) : null;
    for (const listener of [...listeners.get(name)]) listener(data);
  });
}
