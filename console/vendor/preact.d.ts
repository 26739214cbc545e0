// console/vendor/preact.js: Preact, its hooks, signals and htm as one module. What begins empty may
// hold anything, unless a comment beside it gives a type.
import type { Signal } from "@preact/signals";
import type { ComponentChild } from "preact";
import type { Dispatch, StateUpdater } from "preact/hooks";

export { createContext, Fragment, h, render, toChildArray } from "preact";
export { useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo } from "preact/hooks";
export { batch, computed, effect, untracked, useComputed, useSignal } from "@preact/signals";

export function html(strings: TemplateStringsArray, ...values: unknown[]): ComponentChild;
export function signal(value: null): Signal<any>;
export function signal<T>(value: T): Signal<T>;
export function useRef(initial?: null): { current: any };
export function useRef<T>(initial: T): { current: T };
export function useState(initial: null): [any, Dispatch<StateUpdater<any>>];
export function useState<S>(initial: S | (() => S)): [S, Dispatch<StateUpdater<S>>];
