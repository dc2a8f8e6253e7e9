/** Adding an item: what was typed stays until the server has it. */

import { add } from "./actions.js";
import { h, setText } from "./dom.js";
import { attempt, problemPlace, say } from "./feedback.js";
import { go, onRoute, route } from "./route.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { PRIORITIES } from "./words.js";

let text;

export function focusAdding() {
  text.focus({ preventScroll: true });
}

export function mountAdding(element) {
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
    if (!content.trim()) return text.focus();
    const fields = { ...(priority.value && { priority: priority.value }), ...(where.checked && !place.hidden && { after: route.item }) };
    const done = await attempt(button, problem, () => add(content, fields));
    if (!done) return;
    if (text.value === content) text.value = "";
    grow();
    say(`Added ${line(done.id, 60)}.`, { name: "Open", run: () => go({ item: done.id }) });
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape") text.blur();
  });
  const grow = () => {
    text.style.setProperty("height", "auto");
    text.style.setProperty("height", `${Math.min(text.scrollHeight + 2, 180)}px`);
  };
  text.addEventListener("input", grow);
  const chosen = () => {
    const item = route.item && store.session?.items.get(route.item);
    place.hidden = !item;
    if (item) setText(whereName, `after ${line(item.id, 24)}`);
  };
  onRoute(chosen);
  store.on((dirty) => (dirty.whole || dirty.order) && chosen());
  element.append(form);
}
