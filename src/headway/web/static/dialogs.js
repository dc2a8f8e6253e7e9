/** Dialogs: a question before something that cannot be taken back, and anything else with a form in it. */

import { Problem } from "./api.js";
import { focusOr, h } from "./dom.js";
import { attempt, problemPlace, showProblem } from "./feedback.js";

const TEXTS = 'textarea, input:not([type="checkbox"], [type="number"])';

/**
 * Opens a dialog with content and the button that does it. It closes when that went well, or on Esc, but if something
 * was typed only on a second one; what went wrong is shown in it. `work(control)` may change `doIt`'s name for a second try.
 */
export function openDialog({ title, content = [], action, work, danger = false, wide = false }) {
  const problem = problemPlace();
  const doIt = h("button", { class: `primary ${danger ? "danger" : ""}`, type: "submit" }, action);
  const cancel = h("button", { type: "button" }, work ? "Cancel" : "Close");
  const heading = h("h2", { id: "dialog-title", ...(work ? {} : { tabindex: "-1", autofocus: true }) }, title);
  const form = h(
    "form",
    { method: "dialog", novalidate: true },
    heading,
    h("div", { class: "dialog-body" }, ...content),
    problem,
    h("div", { class: "dialog-end" }, cancel, work ? doIt : null),
  );
  const dialog = h("dialog", { class: wide ? "wide" : "", "aria-labelledby": "dialog-title" }, form);
  cancel.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (work && (await attempt(doIt, problem, () => work(doIt)))) dialog.close();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  const typed = () => [...form.querySelectorAll(TEXTS)].map((control) => control.value).join("\n");
  let known = typed();
  dialog.addEventListener("cancel", (event) => {
    if (event.target !== dialog) return;
    const now = typed();
    if (doIt.getAttribute("aria-busy") !== "true" && now === known) return;
    event.preventDefault();
    known = now;
    if (doIt.getAttribute("aria-busy") !== "true") showProblem(problem, new Problem("Closing discards what you typed. Press Esc again to close."));
  });
  const before = document.activeElement;
  dialog.addEventListener("close", () => {
    // The browser has put the focus back by now, and it may have moved on since.
    const isLost = document.activeElement === document.body || dialog.contains(document.activeElement);
    dialog.remove();
    if (isLost) focusOr(before);
  });
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, problem, doIt };
}

/** A labelled control for a form. */
export function field(label, control, hint = "") {
  const id = `f${(field.next = (field.next ?? 0) + 1)}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    control,
    hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null,
  );
}

/** A box to tick. */
export function tick(label, name, checked = false) {
  const box = h("input", { type: "checkbox", name });
  box.checked = checked;
  return h("label", { class: "tick" }, box, h("span", {}, label));
}

export function select(name, choices, chosen) {
  const element = h("select", { name }, ...choices.map(([value, text]) => h("option", { value }, text)));
  element.value = chosen;
  return element;
}
