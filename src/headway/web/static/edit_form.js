/** Editing an item: what is typed stays, also while others change the item and while another one is looked at. */

import { edit } from "./actions.js";
import { h } from "./dom.js";
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
  estimated_time: { label: "Estimated time", make: () => input("estimated_time"), show: (value) => value ?? "", read: (text) => text.trim() || null },
  verify: { label: "Check", hint: "A command that fails until the item is done.", make: () => input("verify", { dir: "ltr", spellcheck: "false" }), show: (value) => value ?? "", read: (text) => text.trim() || null },
  depends_on: { label: "Depends on", hint: "Ids, one per line.", make: () => area("depends_on", "2"), show: (value) => value.join("\n"), read: idsOf },
  notes: { label: "Notes", make: () => area("notes", "4"), show: (value) => value ?? "", read: (text) => text.trim() || null },
};
const NAMES = Object.keys(FIELDS);

export class EditForm {
  /** `done()` when it is saved or given up. */
  constructor(todo, done) {
    this.id = todo.id;
    this.known = todo;
    /** The item as the stream had it last, and what this person sent: the one may come before the answer to the other. */
    this.streamed = todo;
    this.sent = {};
    this.controls = {};
    this.notes = {};
    /** What each control held before anything was typed. */
    this.before = {};
    this.problem = problemPlace();
    this.save = h("button", { type: "submit", class: "primary" }, "Save");
    const cancel = h("button", { type: "button" }, "Cancel");
    cancel.addEventListener("click", () => done());
    const fields = NAMES.map((name) => this.field(name));
    const [content, priority, module, time, ...rest] = fields;
    this.element = h("form", { class: "edit", novalidate: true, "aria-label": "Edit the item" }, content, h("div", { class: "side-by-side" }, priority, time), module, ...rest, this.problem, h("div", { class: "dialog-end" }, cancel, this.save));
    this.element.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await this.send()) done();
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.element.requestSubmit();
      } else if (event.key === "Escape" && !this.isTouched) done();
      else if (event.key === "Escape") say("Save your changes (Ctrl+Enter) or cancel.");
      else return;
      event.stopPropagation();
    });
  }

  field(name) {
    const { label, hint, make } = FIELDS[name];
    const control = (this.controls[name] = make());
    const note = (this.notes[name] = h("p", { class: "hint changed", role: "status" }));
    const whole = field(label, control, hint);
    if (name === "depends_on") whole.append(this.chooser());
    whole.append(note);
    this.take(name);
    control.addEventListener("blur", () => this.touched(name) || this.take(name));
    return whole;
  }

  focus() {
    this.controls.content.focus();
  }

  /** Puts what the item has into the control. */
  take(name) {
    const control = this.controls[name];
    control.value = FIELDS[name].show(this.known[name]);
    this.before[name] = control.value; // it may have other line ends
    this.notes[name].replaceChildren();
  }

  /** Whether a person wrote something else than what was there. */
  touched(name) {
    return this.controls[name].value !== this.before[name];
  }

  get isTouched() {
    return NAMES.some((name) => this.touched(name));
  }

  /** Sends what was typed and nothing else; whether nothing is left that was typed meanwhile. */
  async send() {
    const texts = Object.fromEntries(NAMES.filter((name) => this.touched(name)).map((name) => [name, this.controls[name].value]));
    const fields = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, FIELDS[name].read(text)]));
    if (!Object.keys(fields).length) return true;
    this.sent = fields;
    const done = await attempt(this.save, this.problem, () => edit(this.id, fields));
    if (!done) {
      this.sent = {};
      return false;
    }
    Object.assign(this.before, texts);
    this.known = { ...this.known, ...fields };
    for (const name of Object.keys(texts)) this.notes[name].replaceChildren();
    say(`Saved ${line(this.id, 60)}.`);
    return !this.isTouched;
  }

  /** Someone changed the item: fields that nobody types in follow, beside the others it is said. */
  update(todo) {
    const before = this.streamed;
    if (todo === before) return;
    this.streamed = this.known = todo;
    for (const name of NAMES) {
      const theirs = FIELDS[name].show(todo[name]);
      if (theirs === FIELDS[name].show(before[name])) continue;
      const control = this.controls[name];
      const isFree = !this.touched(name) && control !== document.activeElement;
      const isOwn = name in this.sent && theirs === FIELDS[name].show(this.sent[name]);
      if (isFree || control.value === theirs) this.take(name);
      else if (isOwn) this.notes[name].replaceChildren();
      else this.tell(name, theirs);
    }
  }

  /** Says beside a field what someone else made of it; it can be taken over. */
  tell(name, theirs) {
    const take = h("button", { type: "button", class: "link" }, "Use this value");
    take.addEventListener("click", () => {
      this.controls[name].focus();
      this.take(name);
    });
    this.notes[name].replaceChildren(`Changed by someone else to: ${line(theirs, 200) || "(empty)"} `, take);
  }

  /** Items to choose from, for those who do not know ids by heart. */
  chooser() {
    const chooser = h("select", { "aria-label": "Add a dependency" });
    const fill = () => {
      const others = [...store.session.items.values()].filter((todo) => todo.id !== this.id);
      chooser.replaceChildren(h("option", { value: "" }, "Add one…"), ...others.map((todo) => h("option", { value: todo.id }, `${line(todo.id, 30)}: ${line(todo.content, 60)}`)));
    };
    fill();
    chooser.addEventListener("focus", fill);
    chooser.addEventListener("change", () => {
      const control = this.controls.depends_on;
      if (chooser.value) control.value = [...idsOf(control.value), chooser.value].join("\n");
      chooser.value = "";
    });
    return chooser;
  }
}
