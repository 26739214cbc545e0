// parts/editor.js alone uses it, as a whole. Its types are in ten packages, and not checked.
declare const codemirror: any;
export = codemirror;
