// The difference between two texts, line by line.
import { html } from "../vendor/preact.js";

const MOST_CELLS = 4_000_000;
const AROUND = 3;

/** The lines of both texts in order: `[{kind: "same" | "removed" | "added", text}]`. */
export function difference(before, after) {
  const [a, b] = [lines(before), lines(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  )
    end += 1;
  const same = (text) => ({ kind: "same", text });
  return [
    ...a.slice(0, start).map(same),
    ...changes(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

const lines = (text) => (text === "" ? [] : text.replaceAll("\r\n", "\n").split("\n"));

/** By the longest common subsequence; texts too long for its table count as replaced. */
function changes(a, b) {
  const removed = (text) => ({ kind: "removed", text });
  const added = (text) => ({ kind: "added", text });
  if (a.length * b.length > MOST_CELLS) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const result = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      result.push({ kind: "same", text: a[i] });
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      result.push(removed(a[i]));
      i += 1;
    } else {
      result.push(added(b[j]));
      j += 1;
    }
  }
  return [...result, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

const SIGNS = { same: " ", removed: "−", added: "+" };
const NAMES = { removed: "Removed: ", added: "Added: " };

/** Show what changed, with a few lines around it. */
export function Diff({ before, after, label }) {
  const all = difference(before, after);
  const near = (index) =>
    all.slice(Math.max(0, index - AROUND), index + AROUND + 1).some((each) => each.kind !== "same");
  const rows = all.map((each, index) => ({ ...each, near: near(index) }));
  return html`
    <div class="diff" tabindex="0" role="region" aria-label=${label}>
      ${rows.map((each, index) =>
        each.near
          ? html`
            <div key=${index} class=${each.kind}>
              <span aria-hidden="true">${SIGNS[each.kind]}</span>
              <code>
                ${
                  NAMES[each.kind] && html`<span class="visually-hidden">${NAMES[each.kind]}</span>`
                }
                ${each.text || " "}
              </code>
            </div>
          `
          : rows[index - 1]?.near !== false && html`<div key=${index} class="gap">…</div>`,
      )}
    </div>
  `;
}
