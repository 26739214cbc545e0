// The HTML of a mail as readers see it: at the width of a phone, a tablet or a desktop, light or
// dark, with images of other hosts only after a click.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { address } from "../core/api.js";
import { route, setQuery } from "../core/router.js";
import { Button } from "./controls.js";
import { Segments } from "./tabs.js";

const WIDTHS = [
  ["phone", "Phone, 375 pixels", "smartphone"],
  ["tablet", "Tablet, 768 pixels", "tablet"],
  ["full", "Full width", "monitor"],
];
const SCHEMES = [
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
];
const REMOTE =
  /(?:src|background|srcset)\s*=\s*["']?\s*(?:https?:)?\/\/|url\(\s*["']?(?:https?:)?\/\//i;

/**
 * The tools and the stage around the frame of a mail. `source`: the HTML; `id`: which mail it is,
 * so that a click for one loads no images of another; `frame({remote, class})` returns the frame.
 */
export function MailStage({ source, id, frame }) {
  const [remote, setRemote] = useState(false);
  useEffect(() => setRemote(false), [id]);
  const { width = "full", scheme = "light" } = route.value.query;
  return html`
    <div class="mail-view">
      <div class="mail-tools">
        <${Segments}
          label="Width"
          iconsOnly
          options=${WIDTHS}
          value=${width}
          onChange=${(each) => setQuery({ width: each === "full" ? "" : each })}
        />
        <${Segments}
          label="Colours"
          iconsOnly
          options=${SCHEMES}
          value=${scheme}
          onChange=${(each) => setQuery({ scheme: each === "light" ? "" : each })}
        />
        <span class="grow"></span>
        ${
          REMOTE.test(source ?? "") &&
          !remote &&
          html`
            <${Button} kind="small" icon="image" onClick=${() => setRemote(true)}>
              Load remote images
            <//>
          `
        }
      </div>
      <div class="mail-stage ${scheme}">
        ${frame({ remote, class: `mail-frame ${width} ${scheme}` })}
      </div>
    </div>
  `;
}

/**
 * A frame for HTML that is stored nowhere: a page with a policy and an origin of its own gets it.
 */
export function PreviewFrame({ source, remote, class: names, title = "Preview of the HTML" }) {
  const frame = useRef();
  const [loaded, setLoaded] = useState(false);
  useEffect(() => {
    if (loaded) frame.current.contentWindow.postMessage({ html: source }, "*");
  }, [loaded, source]);
  return html`
    <iframe
      ref=${frame}
      class=${names}
      title=${title}
      sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"
      referrerpolicy="no-referrer"
      src=${address("console/mail-frame.html", { images: remote ? "remote" : "" })}
      onLoad=${() => setLoaded(true)}
    ></iframe>
  `;
}
