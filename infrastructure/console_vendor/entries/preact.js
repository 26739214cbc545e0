// Preact, its hooks and signals, and htm bound to Preact's h: one module, so that one copy of
// Preact serves all of them.
import { h, Fragment, render, createContext, toChildArray } from "preact";
import htm from "htm";

export const html = htm.bind(h);
export { h, Fragment, render, createContext, toChildArray };
export {
  useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState,
} from "preact/hooks";
export { batch, computed, effect, signal, untracked, useSignal, useComputed } from "@preact/signals";
