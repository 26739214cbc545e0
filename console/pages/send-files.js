// Files of a message: attachments, and images that its HTML shows.
import { html, useState } from "../vendor/preact.js";
import { bytes } from "../core/format.js";
import { local } from "../core/service.js";
import { Icon, IconButton, SelectField } from "../parts/controls.js";
import { Notice } from "../parts/feedback.js";

const IMAGE = /^image\//;
const LONGEST_NAME = 255;
/**
 * Bytes of all files in base64: a message has 20 MB, a request to a function on AWS about 4.5 MB.
 */
const room = () => (local.value ? 20 * 1048576 : 4500000);
const encoded = (files) => files.reduce((sum, each) => sum + each.data.length, 0);

/** What is wrong with the files, each as a text. */
export function fileProblems(files) {
  const images = files.filter((each) => each.inline).map((each) => each.name);
  return [
    encoded(files) > room() && `The files are too large together: at most ${bytes(room() * 0.75)}.`,
    files.some((each) => new TextEncoder().encode(each.name).length > LONGEST_NAME) &&
      `The name of a file has at most ${LONGEST_NAME} bytes.`,
    new Set(images).size < images.length && "Two images in the HTML have the same name.",
  ].filter(Boolean);
}

/** The fields of the API for the files. */
export function fileFields(files) {
  const fields = (inline) =>
    files
      .filter((each) => each.inline === inline)
      .map(({ name, type, data }) => ({ name, type, data }));
  return Object.fromEntries(
    [
      ["attachments", fields(false)],
      ["inline_images", fields(true)],
    ].filter(([, each]) => each.length),
  );
}

/** A body as it is shown: what is in the files would hide everything else. */
export function withoutData(body) {
  const short = (files) => files.map((each) => ({ ...each, data: `<base64 of ${each.name}>` }));
  const { content } = body;
  const changes = Object.fromEntries(
    ["attachments", "inline_images"]
      .filter((name) => content[name])
      .map((name) => [name, short(content[name])]),
  );
  return { ...body, content: { ...content, ...changes } };
}

export function FilesField({ files, onChange }) {
  const [problem, setProblem] = useState("");
  const add = async (event) => {
    const chosen = [...event.target.files];
    event.target.value = "";
    // What cannot be sent is not read: a file of a gigabyte would stop the page
    const fits = chosen.filter((file) => (file.size * 4) / 3 <= room());
    const large = chosen.filter((file) => !fits.includes(file));
    setProblem(large.length ? `Too large: ${large.map((file) => file.name).join(", ")}.` : "");
    const read = await Promise.all(fits.map(readFile));
    onChange((former) => [...former, ...read]);
  };
  const change = (index, changes) =>
    onChange((former) =>
      former.map((each, place) => (place === index ? { ...each, ...changes } : each)),
    );
  return html`
    <div class="stack small">
      <div class="row wraps">
        <label class="button file-button">
          <${Icon} name="paperclip" />Attach files
          <input type="file" multiple class="visually-hidden" onChange=${add} />
        </label>
        <span class="hint soft">
          ${
            files.length
              ? `${bytes(files.reduce((sum, each) => sum + each.size, 0))} of ` +
                `${bytes(room() * 0.75)}`
              : `At most ${bytes(room() * 0.75)} together`
          }
        </span>
      </div>
      ${problem && html`<${Notice} tone="bad" icon="circle-alert">${problem}<//>`}
      ${
        files.length > 0 &&
        html`
          <ul class="items framed" aria-label="Files">
            ${files.map(
              (each, index) => html`
                <${File}
                  key=${`${each.name}${index}`}
                  file=${each}
                  index=${index}
                  change=${change}
                  onChange=${onChange}
                />
              `,
            )}
          </ul>
        `
      }
    </div>
  `;
}

function File({ file, index, change, onChange }) {
  return html`
    <li>
      <div class="grow">
        <div class="clip strong" title=${file.name}>${file.name}</div>
        <div class="soft clip">${file.type}, ${bytes(file.size)}</div>
        ${
          file.inline &&
          html`
            <div class="soft wrap">
              In the HTML: <code>${`<img src="cid:${file.name}">`}</code>
            </div>
          `
        }
        ${
          IMAGE.test(file.type) &&
          html`
            <${SelectField}
              hideLabel
              label="How ${file.name} is sent"
              value=${file.inline ? "inline" : "file"}
              options=${[
                ["file", "Attachment"],
                ["inline", "Image in the HTML"],
              ]}
              onChange=${(way) => change(index, { inline: way === "inline" })}
            />
          `
        }
      </div>
      <${IconButton}
        icon="x"
        kind="ghost small"
        label="Remove ${file.name}"
        onClick=${() => onChange((former) => former.filter((_, place) => place !== index))}
      />
    </li>
  `;
}

function readFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error);
    reader.onload = () => {
      const url = String(reader.result);
      resolve({
        name: file.name,
        type: file.type || "application/octet-stream",
        size: file.size,
        data: url.slice(url.indexOf(",") + 1),
        inline: false,
      });
    };
    reader.readAsDataURL(file);
  });
}
