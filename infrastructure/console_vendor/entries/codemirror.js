// The editor of templates: CodeMirror with the languages that templates are written in.
export { EditorView, basicSetup } from "codemirror";
export { keymap, lineNumbers, Decoration, ViewPlugin, MatchDecorator } from "@codemirror/view";
export { EditorState, Compartment } from "@codemirror/state";
export { indentWithTab } from "@codemirror/commands";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { setDiagnostics, lintGutter } from "@codemirror/lint";
export { html } from "@codemirror/lang-html";
export { json } from "@codemirror/lang-json";
export { tags } from "@lezer/highlight";
