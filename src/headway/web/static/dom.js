/** Elements without markup: text is only ever set as text. */

import { cut, line, lines } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, given, children) {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [kind, listener] of Object.entries(value)) element.addEventListener(kind, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element with attributes, listeners (`on`), `data` and children. */
export function h(tag, given, ...children) {
  return fill(document.createElement(tag), given, children);
}

export function svg(tag, given, ...children) {
  return fill(document.createElementNS(SVG, tag), given, children);
}

/** Text from outside: isolated, in its own direction, with nothing in it unseen. */
export function said(text, tag = "span", given = {}) {
  return h(tag, { dir: "auto", ...given, class: `said ${given.class ?? ""}`.trim() }, line(text));
}

/** Sets the text if it is another one, so that what is selected stays selected. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value === true ? "" : value);
}

const SHORT = 700;

/** A text of any length, with its lines; a long one is cut, with a button that shows all of it. */
export function longText(text, given = {}, tag = "div", short = SHORT) {
  const whole = lines(text);
  const body = h(tag, { dir: "auto", ...given, class: `said lines ${given.class ?? ""}`.trim() });
  if (whole.length <= short * 1.3) {
    body.textContent = whole;
    return body;
  }
  const words = document.createTextNode(`${cut(whole, short)}…`);
  const more = h("button", { type: "button", class: "link more", "aria-expanded": "false" });
  const name = (open) => (open ? "Show less" : `Show all (${whole.length.toLocaleString("en")} characters)`);
  more.textContent = name(false);
  more.addEventListener("click", () => {
    const open = more.getAttribute("aria-expanded") !== "true";
    more.setAttribute("aria-expanded", String(open));
    words.data = open ? whole : `${cut(whole, short)}…`;
    more.textContent = name(open);
  });
  body.append(words, " ", more);
  return body;
}

/** Makes the children those that are wanted, in their order, moving as few as it can and keeping the focus. */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let cursor = parent.firstElementChild;
  for (const child of wanted) {
    if (cursor === child) {
      cursor = cursor.nextElementSibling;
    } else if (cursor && cursor.nextElementSibling === child) {
      const further = cursor; // it went further down, and is put there when its turn comes
      cursor = child.nextElementSibling;
      parent.append(further);
    } else {
      parent.insertBefore(child, cursor);
    }
  }
  if (focused && focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

/** Whether keys go into something that is being typed in. */
export function isTyping(target) {
  return target instanceof Element && target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]') !== null;
}

/** Makes a change in a place; if that takes away or hides what has the focus there, `lost()` puts it elsewhere. */
export function keepFocus(place, change, lost) {
  const had = place.contains(document.activeElement) ? document.activeElement : null;
  change();
  const isThere = had?.isConnected && had.checkVisibility();
  if (had && !isThere && [had, document.body].includes(document.activeElement)) lost();
}

/** Focuses the first that can have it, at last the page's main part: the focus never falls into nothing. */
export function focusOr(...elements) {
  for (const element of [...elements, document.getElementById("main")]) {
    if (!element?.isConnected || element === document.body) continue;
    element.focus({ preventScroll: true });
    if (document.activeElement === element) return;
  }
}
