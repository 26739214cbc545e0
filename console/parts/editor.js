// An editor for code (CodeMirror), loaded when it is first shown. CodeMirror makes its style sheets
// itself, which the policy of the page allows in a shadow root only.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Skeleton } from "./feedback.js";

const EXPRESSION = /\{\{\{?[^{}\n]*\}?\}\}/g;

/**
 * `language`: html, json or text. `problems`: `[{line, column, length, text}]`, line and column
 * from 1 in Unicode characters. `jump`: `{line, column}` to go to, a new object each time. The
 * language is read when the editor appears: give it another `key` to change it.
 */
export function CodeEditor({
  label,
  value,
  onInput,
  language = "html",
  problems = [],
  readOnly,
  jump,
}) {
  const { ready, host, editor } = useView({ value, onInput, label, language, readOnly });

  useEffect(() => {
    if (!ready) return;
    const { codemirror, view } = editor.current;
    const diagnostics = problems.map((each) => ({
      ...range(view.state.doc, each),
      severity: "error",
      message: each.text,
    }));
    view.dispatch(codemirror.setDiagnostics(view.state, diagnostics));
  }, [ready, JSON.stringify(problems), value]);

  useEffect(() => {
    if (!ready || !jump) return;
    const { view } = editor.current;
    view.dispatch({
      selection: { anchor: range(view.state.doc, jump).from },
      scrollIntoView: true,
    });
    view.focus();
  }, [ready, jump]);

  return html`
    <div class="editor">
      ${
        !ready &&
        html`
          <div class="editor-shape">
            <${Skeleton} width="60%" />
            <${Skeleton} width="45%" />
            <${Skeleton} width="70%" />
          </div>
        `
      }
      <div class="editor-host" ref=${host}></div>
    </div>
  `;
}

/** The view of CodeMirror in a shadow root, whose text follows `value`. */
function useView({ value, onInput, label, language, readOnly }) {
  const host = useRef();
  const editor = useRef(null);
  const latest = useRef();
  // What the editor has reported, and has not yet come back as `value`: more may be typed
  // meanwhile.
  const reported = useRef(/** @type {string[]} */ ([]));
  const [ready, setReady] = useState(false);
  latest.current = { value, onInput };

  useEffect(() => {
    let ended = false;
    import("../vendor/codemirror.js").then((codemirror) => {
      if (ended || !host.current) return; // another page was opened meanwhile
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      const changed = codemirror.EditorView.updateListener.of((update) => {
        const text = update.state.doc.toString();
        if (!update.docChanged || text === (reported.current.at(-1) ?? latest.current.value))
          return;
        reported.current.push(text);
        latest.current.onInput?.(text);
      });
      const view = new codemirror.EditorView({
        doc: latest.current.value,
        root,
        parent: root,
        extensions: [extensions(codemirror, { label, language, readOnly }), changed],
      });
      editor.current = { codemirror, view };
      setReady(true);
    });
    return () => {
      ended = true;
      editor.current?.view.destroy();
      editor.current = null;
    };
  }, []);

  useEffect(() => {
    const view = editor.current?.view;
    const own = reported.current.indexOf(value);
    reported.current.splice(0, own < 0 ? Infinity : own + 1);
    if (own >= 0) return;
    const text = view?.state.doc.toString();
    // A carriage return is a line's end for the editor, and no difference.
    if (view && text !== value.replaceAll(/\r\n?/g, "\n"))
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [ready, value]);
  return { ready, host, editor };
}

/** The offsets of a place that is given by line, column and length. */
function range(document, { line, column = 1, length = 1 }) {
  const start = document.line(Math.min(Math.max(line ?? 1, 1), document.lines));
  const from = start.from + units(start.text, column - 1);
  return {
    from,
    to: Math.min(
      document.length,
      from + units(document.sliceString(from, from + 2 * length), length),
    ),
  };
}

/** How many UTF-16 units the first `count` characters take. */
const units = (text, count) => [...text].slice(0, count).join("").length;

function extensions(codemirror, { label, language, readOnly }) {
  const {
    basicSetup,
    EditorView,
    EditorState,
    lintGutter,
    HighlightStyle,
    syntaxHighlighting,
    tags,
  } = codemirror;
  const colours = HighlightStyle.define([
    { tag: tags.tagName, color: "var(--info)" },
    { tag: tags.propertyName, color: "var(--info)" },
    { tag: tags.attributeName, color: "var(--warn)" },
    { tag: [tags.string, tags.attributeValue], color: "var(--good)" },
    { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--plum)" },
    { tag: [tags.comment, tags.angleBracket, tags.punctuation], color: "var(--text-soft)" },
  ]);
  return [
    replaceBySelf(EditorView),
    basicSetup,
    lintGutter(),
    EditorView.lineWrapping,
    EditorView.theme(THEME),
    syntaxHighlighting(colours),
    expressions(codemirror),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    language === "json" ? codemirror.json() : language === "html" ? codemirror.html() : [],
    readOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : [],
  ];
}

/**
 * Replace a selection in the state, not in the page. A browser that replaces coloured text keeps
 * its looks in a `style` attribute, which the policy of the page blocks and reports.
 */
function replaceBySelf(EditorView) {
  return EditorView.domEventHandlers({
    beforeinput(event, view) {
      const { main, ranges } = view.state.selection;
      if (
        event.inputType !== "insertText" ||
        !event.data ||
        event.isComposing ||
        view.composing ||
        ranges.every((each) => each.empty)
      )
        return false;
      const insert = () =>
        view.state.update(view.state.replaceSelection(event.data), {
          userEvent: "input.type",
          scrollIntoView: true,
        });
      const isHandled = view.state
        .facet(EditorView.inputHandler)
        .some((handle) => handle(view, main.from, main.to, event.data, insert));
      if (!isHandled && !view.state.readOnly) view.dispatch(insert());
      return true;
    },
  });
}

/** Colour what is between braces as the template language's. */
function expressions({ Decoration, MatchDecorator, ViewPlugin }) {
  const matcher = new MatchDecorator({
    regexp: EXPRESSION,
    decoration: Decoration.mark({ class: "cm-expression" }),
  });
  return ViewPlugin.fromClass(
    class {
      constructor(view) {
        this.decorations = matcher.createDeco(view);
      }

      update(update) {
        this.decorations = matcher.updateDeco(update, this.decorations);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

const FOCUSED_SELECTION =
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground";
const THEME = {
  "&": {
    height: "100%",
    fontSize: "12.5px",
    color: "var(--text)",
    backgroundColor: "var(--surface)",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--text-faint)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)",
  },
  [`.cm-selectionBackground, ${FOCUSED_SELECTION}`]: {
    backgroundColor: "color-mix(in srgb, var(--accent) 26%, transparent)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-expression, .cm-expression *": { color: "var(--plum)", fontWeight: "600" },
  ".cm-panels, .cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    borderColor: "var(--line)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--sunken)",
    borderColor: "var(--line)",
    color: "var(--text-soft)",
  },
};
