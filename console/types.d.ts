// The types that the console's comments name. What the API answers is in api.d.ts.
declare namespace Api {
  type Query = Record<string, string | number | boolean | string[] | null | undefined>;

  /** What `get` returns for a path: of one with a parameter the shape is not known. */
  type Answer<Path extends string> = Path extends keyof Answers ? Answers[Path] : any;

  /** One of the results at a path. */
  type Row<Path extends keyof Answers> = Answers[Path] extends { results: Array<infer R> }
    ? R
    : never;

  /** What `useResource` returns: while it loads for the first time, and after an error, no data. */
  interface Resource<T> {
    data: T | undefined;
    error: any;
    loading: boolean;
    reload: () => Promise<void>;
    set: (change: (former: T | undefined) => T | undefined) => void;
  }

  /** The state of a list that grows at its end; `next` is the path of its next page. */
  interface ListState<R> {
    rows: R[];
    next: string | null;
    loading: boolean;
    error: any;
  }

  /** A set of grants with a plain name. */
  interface Preset {
    id: string;
    label: string;
    about: string;
    grants: string[];
  }

  /** A row of CSV that cannot be used, and why. */
  interface BadRow {
    line: number;
    text: string;
    reason: string;
  }

  /** A draft or published version of a template, or a snippet. */
  interface Version {
    name?: string;
    description?: string;
    options?: Record<string, any>;
    content: Record<string, any>;
  }

  interface RecipientAddress {
    email: string;
    name?: string;
    header_to?: string;
  }

  /** A recipient of a transmission or of a list. */
  interface Recipient {
    address: RecipientAddress;
    tags?: string[];
    metadata?: Record<string, any>;
    substitution_data?: Record<string, any>;
    return_path?: string;
  }

  /** What is being written on the Send page. */
  interface Draft {
    content: Record<string, any>;
    options: Record<string, any>;
    source: { text: string; file: string };
    query: Record<string, string>;
    idempotencyKey: string;
  }

  /** A link that signs in, sets a password, or tells why signing in failed. */
  interface Visit {
    kind: string;
    value: string;
  }

  interface Question {
    title: string;
    text: string;
    action?: string;
    /** What must be typed before. */
    typed?: string;
  }

  interface Options {
    query?: Query;
    body?: unknown;
    /** A header that is null is left out. */
    headers?: Record<string, string | null>;
    signal?: AbortSignal;
    /** Whether cookies go along and are kept; by default only where the request has no key. */
    credentials?: RequestCredentials;
    /** How the body of an answer is read that is not JSON. */
    as?: "arrayBuffer" | "blob" | "text";
  }
}
