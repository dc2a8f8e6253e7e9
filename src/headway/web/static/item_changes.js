/** What an item changed in the project's files, asked for when it is opened. */

import { get, sessionPath } from "./api.js";
import { diffBlock } from "./diff.js";
import { h } from "./dom.js";
import { attempt, problemPlace } from "./feedback.js";
import { store } from "./store.js";

export class ItemChanges {
  constructor() {
    this.body = h("div", { class: "changes-body" });
    this.problem = problemPlace();
    this.element = h("details", { class: "changes", hidden: true }, h("summary", {}, "File changes"), this.body, this.problem);
    this.element.addEventListener("toggle", () => this.element.open && this.load());
    this.of = "";
  }

  /** `last`: its last attempt, if that ended and was not rolled back since. */
  update(todo, last) {
    this.element.hidden = !last;
    const of = last ? `${store.session.name}\n${todo.id}\n${last.ended.version}` : "";
    if (of === this.of) return;
    this.of = of;
    this.path = last && sessionPath(store.session.name, `/todos/${encodeURIComponent(todo.id)}/diff`);
    this.body.replaceChildren();
    if (this.element.open && last) this.load();
  }

  async load() {
    const { of } = this;
    if (this.body.childElementCount) return;
    const found = await attempt(null, this.problem, () => get(this.path));
    if (!found || of !== this.of) return;
    this.body.replaceChildren(
      found.diff ? diffBlock(found.diff) : h("p", { class: "fact" }, "This item changed no files."),
      ...(found.cut ? [h("p", { class: "fact" }, "This is only the beginning; run headway todos diff to see everything.")] : []),
    );
  }
}
