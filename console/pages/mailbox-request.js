// A request of the mailbox that is made when somebody asks for it, and may take a while.
import { useEffect, useRef, useState } from "../vendor/preact.js";

/** @type {{data: any, error: any, busy: boolean}} */
const IDLE = { data: null, error: null, busy: false };

/**
 * Returns `{data, error, busy, send}`: the `results` of the last answer to `request()`, or what
 * went wrong. Another `id` is another message, with nothing asked yet.
 */
export function useRequest(request, id) {
  const [state, setState] = useState(IDLE);
  const current = useRef(id);
  useEffect(() => {
    current.current = id;
    setState(IDLE);
  }, [id]);
  const send = async () => {
    setState((former) => ({ ...former, error: null, busy: true }));
    const result = await request().then(
      ({ results }) => ({ ...IDLE, data: results }),
      (error) => ({ ...IDLE, error }),
    );
    if (current.current === id) setState(result);
  };
  return { ...state, send };
}
