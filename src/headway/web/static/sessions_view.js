/** The sessions on the left: which there are, how far each is, which goes on. */

import { begin } from "./actions.js";
import { Problem } from "./api.js";
import { arrange, h, setAttribute, setText } from "./dom.js";
import { field, openDialog } from "./dialogs.js";
import { announce } from "./feedback.js";
import { isFinished } from "./dependencies.js";
import { go, route } from "./route.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { ago, inFull } from "./time.js";

const rows = new Map();
const asking = new Set();
let list;

export function mountSessions(element, { chosen }) {
  list = h("ul", { class: "session-list", role: "list" });
  const button = h("button", { type: "button", class: "plain", on: { click: () => newSession() } }, "New session…");
  element.append(h("h2", { id: "sessions-title" }, "Sessions"), list, button);
  list.addEventListener("click", (event) => {
    const link = event.target.closest("button");
    if (!link) return;
    go({ session: link.dataset.name });
    chosen();
  });
}

/** Asks for a name and a first item: a session begins with it. */
export function newSession() {
  const name = h("input", { name: "name", maxlength: "200", required: true, autocomplete: "off", dir: "auto" });
  const first = h("textarea", { name: "content", rows: "2", required: true, dir: "auto" });
  openDialog({
    title: "New session",
    content: [field("Name", name, "Terminal commands will use this session."), field("First item", first, "What to do, as a command: “Fix the parser”.")],
    action: "Create",
    work: async () => {
      const wanted = name.value.trim();
      if (!wanted) refuse(name, "Enter a name.");
      if (!first.value.trim()) refuse(first, "Enter the first item.");
      await begin(wanted, first.value);
      await store.loadSessions();
      go({ session: wanted, view: "list" });
    },
  });
}

function refuse(control, words) {
  control.focus();
  throw new Problem(words);
}

function made(name) {
  const title = h("span", { class: "session-name said", dir: "auto" });
  const own = h("span", { class: "session-own said soft", dir: "auto" });
  const asks = h("span", { class: "session-asks", hidden: true }, h("span", { "aria-hidden": "true" }, "? "), "needs your answer");
  const progress = h("span", { class: "session-figures" });
  const when = h("span", { class: "session-when" });
  const fill = h("span", { class: "session-fill" });
  const button = h(
    "button",
    { type: "button", data: { name } },
    title,
    own,
    asks,
    h("span", { class: "session-about" }, progress, when),
    h("span", { class: "session-line", "aria-hidden": "true" }, fill),
  );
  return { element: h("li", {}, button), button, title, own, asks, progress, when, fill };
}

/** What is known best: of the session that is looked at, the page's own state. */
function figures(info) {
  const own = store.session?.name === info.name ? store.session : null;
  if (!own) return info;
  const items = [...own.items.values()];
  return { ...info, total: items.length, completed: items.filter(isFinished).length, running: Boolean(own.run?.goes_on), asks: own.questions?.length ?? 0 };
}

/** How long ago each was changed. */
export function tickSessions() {
  for (const info of store.sessions ?? []) if (rows.has(info.name)) setText(rows.get(info.name).when, ago(info.updated_at));
}

/** Says once that a session asks that is not looked at, if it did not when it was first seen. */
function tellAsking({ name }, asks, isNew) {
  if (!asks) asking.delete(name);
  else if (!asking.has(name)) {
    asking.add(name);
    if (name !== route.session && !isNew) announce(`The session ${line(name, 60)} needs your answer.`);
  }
}

export function updateSessions(dirty) {
  if (!store.sessions || !(dirty.sessions || dirty.whole || dirty.route || dirty.items.size || dirty.order || dirty.run || dirty.questions)) return;
  const known = store.sessions.toSorted((one, other) => (one.updated_at < other.updated_at ? 1 : -1));
  const wanted = known.map((info) => {
    const isNew = !rows.has(info.name);
    if (isNew) rows.set(info.name, made(info.name));
    const row = rows.get(info.name);
    const { total, completed, running, asks } = figures(info);
    setText(row.title, line(info.title || info.name, 200));
    setText(row.own, info.title && info.title !== info.name ? line(info.name, 200) : "");
    row.own.hidden = !row.own.textContent;
    row.asks.hidden = !asks;
    tellAsking(info, asks, isNew);
    const figure = info.problem ? "cannot be read" : total ? `${completed} of ${total} done` : "empty";
    setText(row.progress, `${running ? "● running, " : ""}${figure}${info.current && !running ? ", current" : ""}`);
    setText(row.when, ago(info.updated_at));
    setAttribute(row.button, "title", info.problem ? line(info.problem, 400) : inFull(info.updated_at));
    setAttribute(row.button, "aria-current", info.name === route.session ? "page" : null);
    row.element.classList.toggle("is-running", running);
    row.element.classList.toggle("is-asking", Boolean(asks));
    row.fill.style.setProperty("inline-size", `${total ? Math.round((completed / total) * 100) : 0}%`);
    return row.element;
  });
  const names = new Set(known.map((info) => info.name));
  for (const name of [...rows.keys()]) if (!names.has(name)) rows.delete(name);
  arrange(list, wanted);
}
