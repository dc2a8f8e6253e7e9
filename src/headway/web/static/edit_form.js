/** Editing an item: what is typed stays, also while others change the item and while another one is looked at. */

import { edit } from "./actions.js";
import { h, setText } from "./dom.js";
import { field, select } from "./dialogs.js";
import { attempt, problemPlace, say } from "./feedback.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { PRIORITIES } from "./words.js";

const area = (name, rows) => h("textarea", { name, rows, dir: "auto" });
const input = (name, given = {}) => h("input", { name, type: "text", dir: "auto", autocomplete: "off", ...given });

/** An id on each line; several with commas between them, unless that is an id. */
function idsOf(text) {
  const lines = text.split("\n").map((one) => one.trim());
  const ids = lines.flatMap((one) => (store.session.items.has(one) ? [one] : one.split(",").map((part) => part.trim())));
  return [...new Set(ids.filter(Boolean))];
}

/** How each field is written in the form, and read from it. */
const FIELDS = {
  content: { label: "What to do", make: () => area("content", "3"), show: (value) => value ?? "", read: (text) => text },
  priority: { label: "Priority", make: () => select("priority", [["", "None"], ...PRIORITIES.map((one) => [one, one[0].toUpperCase() + one.slice(1)])], ""), show: (value) => value ?? "", read: (text) => text || null },
  module: { label: "Module", make: () => input("module"), show: (value) => value ?? "", read: (text) => text.trim() || null },
  estimated_time: { label: "Expected time", make: () => input("estimated_time"), show: (value) => value ?? "", read: (text) => text.trim() || null },
  depends_on: { label: "Depends on", hint: "Ids, one per line.", make: () => area("depends_on", "2"), show: (value) => value.join("\n"), read: idsOf },
  notes: { label: "Notes", make: () => area("notes", "4"), show: (value) => value ?? "", read: (text) => text.trim() || null },
};

export class EditForm {
  /** `done()` when it is saved or given up. */
  constructor(todo, done) {
    this.id = todo.id;
    this.known = todo;
    this.controls = {};
    this.notes = {};
    this.problem = problemPlace();
    this.save = h("button", { type: "submit", class: "primary" }, "Save");
    const cancel = h("button", { type: "button" }, "Cancel");
    cancel.addEventListener("click", () => done());
    const fields = Object.entries(FIELDS).map(([name, about]) => {
      const control = (this.controls[name] = about.make());
      control.value = about.show(todo[name]);
      const note = (this.notes[name] = h("p", { class: "hint changed", role: "status" }));
      const whole = field(about.label, control, about.hint);
      if (name === "depends_on") whole.append(this.chooser());
      whole.append(note);
      return whole;
    });
    const [content, priority, module, time, ...rest] = fields;
    this.element = h("form", { class: "edit", novalidate: true, "aria-label": "Edit the item" }, content, h("div", { class: "side-by-side" }, priority, time), module, ...rest, this.problem, h("div", { class: "dialog-end" }, cancel, this.save));
    this.element.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await this.send()) done();
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.element.requestSubmit();
      else if (event.key === "Escape" && !this.isChanged) done();
      else if (event.key !== "Escape") return;
      event.stopPropagation();
    });
  }

  focus() {
    this.controls.content.focus();
  }

  changed(name) {
    return this.controls[name].value !== FIELDS[name].show(this.known[name]);
  }

  get isChanged() {
    return Object.keys(FIELDS).some((name) => this.changed(name));
  }

  async send() {
    const fields = {};
    for (const name of Object.keys(FIELDS)) if (this.changed(name)) fields[name] = FIELDS[name].read(this.controls[name].value);
    if (!Object.keys(fields).length) return true;
    const done = await attempt(this.save, this.problem, () => edit(this.id, fields));
    if (done) say(`Saved ${line(this.id, 60)}.`);
    return Boolean(done);
  }

  /** Someone changed the item: fields that nobody types in follow, beside the others it is said. */
  update(todo) {
    if (todo === this.known) return;
    for (const [name, about] of Object.entries(FIELDS)) {
      const theirs = about.show(todo[name]);
      const before = about.show(this.known[name]);
      if (theirs === before) continue;
      const control = this.controls[name];
      if (control.value === before && control !== document.activeElement) control.value = theirs;
      else if (control.value !== theirs) setText(this.notes[name], `Changed meanwhile to: ${line(theirs, 200) || "nothing"}`);
    }
    this.known = todo;
  }

  /** Items to choose from, for those who do not know ids by heart. */
  chooser() {
    const others = [...store.session.items.values()].filter((todo) => todo.id !== this.id);
    const chooser = h("select", { "aria-label": "Add a dependency" }, h("option", { value: "" }, "Add one…"), ...others.map((todo) => h("option", { value: todo.id }, `${line(todo.id, 30)}: ${line(todo.content, 60)}`)));
    chooser.addEventListener("change", () => {
      const control = this.controls.depends_on;
      if (chooser.value) control.value = [...idsOf(control.value), chooser.value].join("\n");
      chooser.value = "";
    });
    return chooser;
  }
}
