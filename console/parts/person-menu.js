// Who is signed in, at the foot of the sidebar: name, address and role, the profile, signing out.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { href } from "../core/router.js";
import { person } from "../core/session.js";
import { roleName } from "../core/roles.js";
import { Icon } from "./controls.js";

export function PersonMenu({ signOut }) {
  const [open, setOpen] = useState(false);
  const element = useRef();
  useOutside(element, open, () => setOpen(false));
  const { name, email, role } = person.value;
  return html`
    <div
      class="person"
      ref=${element}
      onKeyDown=${(event) => {
        if (event.key !== "Escape" || !open) return;
        event.stopPropagation();
        setOpen(false);
        element.current.querySelector("button").focus();
      }}
    >
      <button
        type="button"
        aria-expanded=${open ? "true" : "false"}
        aria-controls="person-menu"
        onClick=${() => setOpen(!open)}
      >
        <span class="avatar" aria-hidden="true">${initialsOf(name || email)}</span>
        <span class="names">
          <span class="clip strong">${name || email}</span>
          <span class="clip soft">${roleName(role)}</span>
        </span>
        <${Icon} name="chevrons-up-down" />
      </button>
      ${
        open &&
        html`
          <div class="person-menu" id="person-menu">
            <p class="soft wrap">${email}</p>
            <a href=${href(["profile"])} onClick=${() => setOpen(false)}>
              <${Icon} name="user" />Your profile
            </a>
            <button type="button" onClick=${signOut}>
              <${Icon} name="log-out" />Sign out
            </button>
          </div>
        `
      }
    </div>
  `;
}

/** Call `close` for a click outside of the element, while it is open. */
function useOutside(element, open, close) {
  useEffect(() => {
    if (!open) return undefined;
    const handle = (event) => {
      if (!element.current?.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", handle);
    return () => document.removeEventListener("pointerdown", handle);
  }, [open]);
}

/** `Ada Lovelace` → `AL` */
function initialsOf(name) {
  const words = name.split(/[\s@.]+/).filter(Boolean);
  return words
    .slice(0, name.includes("@") ? 1 : 2)
    .map((each) => each[0].toUpperCase())
    .join("");
}
