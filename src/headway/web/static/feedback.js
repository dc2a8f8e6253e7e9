/** What comes of something that a person did: busy while it lasts, what went wrong beside it, what was done in a line. */

import { Problem } from "./api.js";
import { focusOr, h, keepFocus, setText } from "./dom.js";
import { line, lines } from "./text.js";

let polite = null;
let notice = null;
let timer = 0;
let cameFrom = null;

export function mountFeedback(liveRegion, noticeElement) {
  polite = liveRegion;
  notice = noticeElement;
  for (const kind of ["pointerenter", "focusin"]) notice.addEventListener(kind, () => clearTimeout(timer));
  for (const kind of ["pointerleave", "focusout"]) notice.addEventListener(kind, closeLater);
  notice.addEventListener("focusin", (event) => notice.contains(event.relatedTarget) || (cameFrom = event.relatedTarget));
}

const closeNotice = () => keepFocus(notice, () => notice.replaceChildren(), () => focusOr(cameFrom));

function closeLater() {
  clearTimeout(timer);
  timer = setTimeout(closeNotice, 8_000);
}

let waiting = "";

/** Tells a screen reader; what comes at once is told as one. */
export function announce(text) {
  if (waiting.includes(text)) return;
  if (!waiting) {
    setTimeout(() => {
      polite.textContent = "";
      setText(polite, waiting);
      waiting = "";
    }, 700);
  }
  waiting = waiting ? `${waiting} ${text}` : text;
  if (waiting.length > 300) waiting = `${waiting.slice(0, 300)}…`;
}

/** Says what was done, for a while, with something that can be done about it. */
export function say(text, action = null) {
  closeNotice();
  const button = action && h("button", { type: "button", class: "plain" }, action.name);
  button?.addEventListener("click", () => {
    closeNotice();
    action.run();
  });
  notice.replaceChildren(h("p", {}, h("span", { dir: "auto", class: "said" }, line(text, 200)), button));
  announce(line(text, 200));
  closeLater();
}

/** What is wrong with an item, without saying with which: the person has it before them. */
function ofField(violation) {
  const [, name, rest] = /^(?:[^:]*\.)?(\w+): (.*)$/s.exec(violation) ?? [null, "todos", violation];
  const field = name.replaceAll("_", " ");
  return name === "todos" ? rest : `${field[0].toUpperCase()}${field.slice(1)}: ${rest}`;
}

/** Shows a problem where the person is; nothing hides what is shown there. */
export function showProblem(place, error) {
  const message = error instanceof Problem ? error.message : `Something went wrong on this page: ${error.message}`;
  const list = error.violations?.length ? error.violations.slice(0, 20) : null;
  const isOfItem = error.kind === "InvalidTodos";
  const first = isOfItem ? "Not saved. Correct this first:" : message.split("\n")[0];
  const words = list?.map((one) => line(isOfItem ? ofField(one) : one, 400));
  place.replaceChildren(
    h("p", { dir: "auto", class: "said lines" }, lines(list ? first : message)),
    ...(list ? [h("ul", {}, ...words.map((one) => h("li", { class: "said", dir: "auto" }, one)))] : []),
  );
  place.hidden = false;
  announce(line(list ? `${first} ${words.join("; ")}` : message, 250));
}

export function clearProblem(place) {
  place.replaceChildren();
  place.hidden = true;
}

/** A place for problems. */
export function problemPlace() {
  return h("div", { class: "problem", hidden: true });
}

/**
 * Does something once, with its control busy meanwhile. Its result, or undefined if it went wrong: then the problem is
 * shown, and nothing that was typed is touched. The control keeps the focus, so it is not disabled.
 */
export async function attempt(control, place, work) {
  if (control?.getAttribute("aria-busy") === "true") return undefined;
  control?.setAttribute("aria-busy", "true");
  if (place) clearProblem(place);
  try {
    return (await work()) ?? {};
  } catch (error) {
    if (place) {
      showProblem(place, error);
      place.scrollIntoView({ block: "nearest" });
    } else say(error.message);
    if (!(error instanceof Problem)) console.error(error);
    return undefined;
  } finally {
    control?.removeAttribute("aria-busy");
  }
}
