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
  text = h("textarea", { name: "content", rows: "1", dir: "auto", "aria-label": "New item", placeholder: "Add an item: what needs to be done?" });
  const priority = h("select", { name: "priority", "aria-label": "Priority of the new item" }, h("option", { value: "" }, "Priority"), ...PRIORITIES.map((one) => h("option", { value: one }, one[0].toUpperCase() + one.slice(1))));
  const check = h("input", { type: "text", name: "verify", dir: "ltr", autocomplete: "off", spellcheck: "false", "aria-label": "Check: a command that fails until the item is done", placeholder: "Check (a command)" });
  const where = h("input", { type: "checkbox", name: "after" });
  const whereName = h("span", { dir: "auto", class: "said" });
  const place = h("label", { class: "tick", hidden: true }, where, whereName);
  const button = h("button", { class: "primary", type: "submit" }, "Add");
  const form = h("form", { class: "adding", novalidate: true, "aria-label": "Add an item" }, text, h("div", { class: "adding-how" }, place, check, priority, button), problem);
  let shown = null;
  /** Texts that the server does not have yet, oldest first; and for each session what is in the field. */
  const waiting = [];
  const typed = new Map();
  const fill = (session, value) => {
    typed.set(session, value);
    keep(session);
    if (shown !== session) return;
    text.value = value;
    grow();
  };
  const keep = (session) => keepDraft(session, together([...unsent(session), typed.get(session)]));
  const unsent = (session) => waiting.filter((one) => one.session === session).map((one) => one.content);
  const together = (texts) => texts.filter(Boolean).join("\n");
  /** One after the other: whoever types fast is not held up by the one before. */
  const send = async () => {
    while (waiting.length) {
      const { session, content, fields } = waiting[0];
      const done = await attempt(button, problem, () => add(content, fields, session));
      if (!done) return restoreUnsent();
      waiting.shift();
      keep(session);
      say(`Added ${line(done.id, 60)}.`, { name: "Open", run: () => go({ session, item: done.id }) });
    }
  };
  const restoreUnsent = () => {
    const back = waiting.splice(0);
    for (const session of new Set(back.map((one) => one.session))) {
      const texts = back.filter((one) => one.session === session).map((one) => one.content);
      fill(session, together([...texts, typed.get(session)]));
    }
    priority.value = back[0].fields.priority ?? "";
    check.value = back[0].fields.verify ?? "";
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const content = text.value;
    if (!content.trim()) {
      showProblem(problem, new Problem("Describe the item first."));
      return text.focus();
    }
    const fields = { ...(priority.value && { priority: priority.value }), ...(check.value.trim() && { verify: check.value.trim() }), ...(where.checked && !place.hidden && { after: route.item }) };
    waiting.push({ session: store.session.name, content, fields });
    fill(store.session.name, "");
    priority.value = check.value = "";
    if (waiting.length === 1) send();
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
    typed.set(shown, text.value);
    keep(shown);
    grow();
    clearProblem(problem);
  });
  /** Each session has what was typed for it. */
  const follow = () => {
    const name = store.session?.name ?? null;
    if (name === null || name === shown) return;
    shown = name;
    if (!typed.has(name)) typed.set(name, keptDraft(name));
    text.value = typed.get(name);
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
