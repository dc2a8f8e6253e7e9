/** Adding an item: what was typed stays until the server has it. */

import { add } from "./actions.js";
import { Problem } from "./api.js";
import { h, keepFocus, setText } from "./dom.js";
import { keepDraft, keptDraft } from "./drafts.js";
import { attempt, clearProblem, problemPlace, say, showProblem } from "./feedback.js";
import { go, onRoute, route } from "./route.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { PRIORITIES } from "./words.js";

let text;

export function focusAdding() {
  text.focus({ preventScroll: true });
}

/** `left()` when the person leaves it with Esc. */
export function mountAdding(element, { left }) {
  const problem = problemPlace();
  text = h("textarea", { name: "content", rows: "1", dir: "auto", "aria-label": "New item", placeholder: "Add an item — what is to be done?" });
  const priority = h("select", { name: "priority", "aria-label": "Priority of the new item" }, h("option", { value: "" }, "Priority"), ...PRIORITIES.map((one) => h("option", { value: one }, one[0].toUpperCase() + one.slice(1))));
  const where = h("input", { type: "checkbox", name: "after" });
  const whereName = h("span", { dir: "auto", class: "said" });
  const place = h("label", { class: "tick", hidden: true }, where, whereName);
  const button = h("button", { class: "primary", type: "submit" }, "Add");
  const form = h("form", { class: "adding", novalidate: true, "aria-label": "Add an item" }, text, h("div", { class: "adding-how" }, place, priority, button), problem);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const content = text.value;
    const session = store.session.name;
    if (!content.trim()) {
      showProblem(problem, new Problem("Write what is to be done first."));
      return text.focus();
    }
    const fields = { ...(priority.value && { priority: priority.value }), ...(where.checked && !place.hidden && { after: route.item }) };
    const done = await attempt(button, problem, () => add(content, fields));
    if (!done) return;
    const typed = keptDraft(session);
    if (typed.startsWith(content)) keepDraft(session, typed.slice(content.length)); // what was typed meanwhile stays
    if (shown === session) {
      text.value = keptDraft(session);
      priority.value = "";
      grow();
    }
    say(`Added ${line(done.id, 60)}.`, { name: "Open", run: () => go({ session, item: done.id }) });
  });
  text.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape") left();
  });
  const grow = () => {
    text.style.setProperty("height", "auto");
    text.style.setProperty("height", `${Math.min(text.scrollHeight + 2, 180)}px`);
  };
  text.addEventListener("input", () => {
    keepDraft(shown, text.value);
    grow();
    clearProblem(problem);
  });
  let shown = null;
  /** Each session has what was typed for it. */
  const follow = () => {
    const name = store.session?.name ?? null;
    if (name === null || name === shown) return;
    shown = name;
    text.value = keptDraft(name);
    clearProblem(problem);
    grow();
  };
  const chosen = () => {
    const item = route.item && store.session?.items.get(route.item);
    keepFocus(place, () => (place.hidden = !item), focusAdding);
    if (item) setText(whereName, `after ${line(item.id, 24)}`);
  };
  onRoute(chosen);
  store.on((dirty) => {
    if (dirty.whole) follow();
    if (dirty.whole || dirty.order) chosen();
  });
  element.append(form);
}
