// What eslint checks in console/. Prettier cannot break a text or a template, so the width is here.
import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["console/vendor/"] },
  js.configs.recommended,
  {
    files: ["console/**/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "max-len": ["error", { code: 100, ignoreUrls: true, ignoreRegExpLiterals: true }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    // Run in pages of their own, and before modules
    files: ["console/theme.js", "console/mail-frame.js"],
    languageOptions: { sourceType: "script" },
  },
];
