/** One item of the list as a row: made once, then only what is different is set. */

import { h, setAttribute, setText } from "./dom.js";
import { unmet } from "./dependencies.js";
import { line } from "./text.js";
import { itemLasted } from "./time.js";
import { kindOf, levelOf, markOf, statusOf } from "./words.js";

const MOST_TEXT = 400;
const MOST_META = 60;

export class ItemRow {
  constructor(id) {
    this.id = id;
    this.sign = h("span", { "aria-hidden": "true" });
    this.mark = h("button", { type: "button", class: "mark", tabindex: "-1" }, this.sign);
    this.state = h("span", { class: "unseen" });
    this.content = h("span", { class: "content said", dir: "auto" });
    this.meta = h("span", { class: "meta" });
    this.grip = h("span", { class: "grip", "aria-hidden": "true", title: "Drag to move (Alt+↑, Alt+↓)" });
    this.grip.addEventListener("click", () => {}); // else a browser takes a finger on it for one on the mark beside it
    this.main = h("button", { type: "button", class: "open", tabindex: "-1" }, this.state, this.content, this.meta);
    this.element = h("li", { class: "stop", data: { id } }, this.grip, this.mark, this.main);
    this.lasted = null;
  }

  update(todo, items, isExecuting) {
    this.todo = todo;
    setText(this.sign, markOf(todo));
    setAttribute(this.mark, "aria-label", `${statusOf(todo)}: change the status of ${line(todo.id, 60)}`);
    setAttribute(this.mark, "title", `${statusOf(todo)} — change`);
    setText(this.state, `${statusOf(todo)}: `);
    const text = todo.status === "in_progress" && todo.active_form ? todo.active_form : todo.content;
    setText(this.content, line(text, MOST_TEXT));
    const classes = ["stop", `k-${kindOf(todo)}`, `is-${todo.status}`, isExecuting ? "is-executing" : ""];
    for (const name of ["is-chosen", "is-dragged", "drop-before", "drop-after"]) if (this.element.classList.contains(name)) classes.push(name);
    setAttribute(this.element, "class", classes.filter(Boolean).join(" "));
    this.setMeta(this.about(todo, items));
  }

  /** What is worth seeing at a glance, [class, text, what it is]. */
  about(todo, items) {
    const waits = todo.status === "pending" ? unmet(todo, items) : [];
    const some = waits.slice(0, 3).map((id) => line(id, 24)).join(", ") + (waits.length > 3 ? ` +${waits.length - 3}` : "");
    return [
      ["id", line(todo.id, 40)],
      todo.priority && todo.priority !== "medium" ? [`priority-${todo.priority}`, `${todo.priority} priority`] : null,
      todo.module ? ["module", line(todo.module, MOST_META)] : null,
      waits.length ? ["waits", `waits for ${some}`] : null,
      todo.owner ? ["owner", `by ${line(todo.owner, MOST_META)}`] : null,
      todo.interrupted ? ["interrupted", "interrupted"] : null,
      todo.status === "blocked" && todo.notes ? ["reason", line(todo.notes, 120)] : null,
      markOf(todo) === "✓?" ? ["level", levelOf(todo)] : null,
      todo.evidence?.command ? ["evidence", line(todo.evidence.command, MOST_META)] : null,
      todo.failed_calls ? ["failed", `${todo.failed_calls} of ${todo.tool_calls} calls failed`] : null,
      ["lasted", itemLasted(todo) || (todo.estimated_time && todo.status === "pending" ? `about ${line(todo.estimated_time, 24)}` : "")],
    ].filter((one) => one && one[1]);
  }

  setMeta(about) {
    while (this.meta.childElementCount > about.length) this.meta.lastElementChild.remove();
    about.forEach(([name, text], index) => {
      const piece = this.meta.children[index] ?? this.meta.appendChild(h("span", { dir: "auto" }));
      setAttribute(piece, "class", `said about-${name}`);
      setText(piece, text);
    });
    const last = this.meta.lastElementChild;
    this.lasted = this.todo.status === "in_progress" && last?.classList.contains("about-lasted") ? last : null;
  }

  /** The time goes on. */
  tick(now) {
    if (this.lasted) setText(this.lasted, itemLasted(this.todo, now));
  }
}
