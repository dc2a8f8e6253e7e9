/** What is done with one item from anywhere: its status, its place, dropping it, executing it, rolling it back. */

import { clear, drop, edit, execute, move, rollBack, undo } from "./actions.js";
import { h, said } from "./dom.js";
import { openDialog, tick } from "./dialogs.js";
import { attempt, say } from "./feedback.js";
import { openMenu } from "./menu.js";
import { runFields } from "./run_form.js";
import { sameSession } from "./same_session.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { plainMark, STATUS_NAMES, STATUSES } from "./words.js";

const KIND = { pending: "quiet", in_progress: "running", completed: "done", blocked: "blocked", cancelled: "quiet" };

/** Undoes what was just done, unless something else was done since: undo would undo that instead. */
function takeBack({ version }) {
  const { name } = store.session;
  const isLater = (event) => event.version > version && event.type === "TodoListUpdated" && event.agent_id === "main";
  const run = () => {
    if (store.session?.name !== name) say(`That was in “${line(name, 60)}”.`);
    else if (store.log.events.some(isLater)) say("The list has changed since. Undo (u) reverses the latest change, whoever made it.");
    else attempt(null, null, undo);
  };
  return { name: "Undo", run };
}

/** The menu of statuses at an element. */
export function changeStatus(id, anchor, place = null) {
  const todo = store.session.items.get(id);
  if (!todo) return;
  const choices = STATUSES.map((status) => ({
    value: status,
    name: STATUS_NAMES[status],
    mark: plainMark(status),
    kind: KIND[status],
    chosen: status === todo.status,
  }));
  openMenu(anchor, `Status of ${line(id, 60)}`, choices, (status) => status !== store.session?.items.get(id)?.status && setStatus(id, status, anchor, place));
}

export async function setStatus(id, status, control, place = null) {
  const done = await attempt(control, place, () => edit(id, { status }));
  if (done) say(`${line(id, 60)}: ${STATUS_NAMES[status].toLowerCase()}.`, takeBack(done));
}

let ahead = null;
let asked = Promise.resolve();

/** The ids in the order that they will have once the server has told of all moves that were asked for. */
function order() {
  if (ahead && (ahead.name !== store.session.name || store.session.version >= ahead.version)) ahead = null;
  return ahead?.ids ?? [...store.session.items.keys()];
}

/** To a position counted from 1; one that is not there is the nearest that is. Moves are made one after the other. */
export async function moveItem(id, position) {
  const ids = order();
  const wanted = Math.min(Math.max(position, 1), ids.length);
  if (!ids.includes(id) || ids.indexOf(id) + 1 === wanted) return;
  const mine = { name: store.session.name, ids: ids.filter((other) => other !== id).toSpliced(wanted - 1, 0, id), version: Infinity };
  ahead = mine;
  asked = asked.then(() => store.session?.name === mine.name && attempt(null, null, () => move(id, wanted)));
  const done = await asked;
  if (done) mine.version = done.version;
  else if (ahead === mine) ahead = null;
  if (done) say(`${line(id, 60)} is now ${wanted} of ${ids.length}.`, takeBack(done));
}

/** One place up or down among those that are shown. */
export function stepItem(id, step, isShown) {
  const ids = order();
  const shown = ids.filter((other) => other === id || isShown(other));
  const next = shown[shown.indexOf(id) + step];
  if (next !== undefined) return moveItem(id, ids.indexOf(next) + 1);
  return asked.then(() => say(`${line(id, 60)} is already the ${step < 0 ? "first" : "last"}.`)); // after what the moves before say
}

export async function dropItem(id, control = null, place = null) {
  const content = store.session.items.get(id)?.content ?? id;
  const done = await attempt(control, place, () => drop(id));
  if (done) say(`Dropped “${line(content, 80)}”.`, takeBack(done));
}

/** Asks, and drops all items. */
export function clearList() {
  const items = store.session.items.size;
  return openDialog({
    title: "Clear the list",
    content: [h("p", {}, `${items === 1 ? "The only item" : `All ${count(items, "item")}`} will be removed from the list, finished or not. Undo restores everything.`)],
    action: "Clear the list",
    danger: true,
    work: sameSession(async () => {
      const done = await clear();
      say("Cleared the list.", takeBack(done));
      return done;
    }),
  });
}

/** Asks how, and has the agent do the item. */
export function executeItem(id) {
  const fields = runFields({ one: true });
  openDialog({
    title: "Execute this item",
    content: [said(line(store.session.items.get(id)?.content ?? id, 300), "p", { class: "quoted" }), ...fields.elements],
    action: "Execute",
    work: sameSession(() => execute({ only: id, ...fields.read() })),
  });
}

/** Asks, and reverses what the item changed; if later items are in the way, offers to roll those back too. */
export function rollBackItem(id) {
  const later = tick("", "with_later");
  later.hidden = true;
  openDialog({
    title: "Roll back this item",
    content: [
      said(line(store.session.items.get(id)?.content ?? id, 300), "p", { class: "quoted" }),
      h("p", {}, "Reverses the changes this item made to files and sets it to pending. Later work in the same files stays."),
      later,
    ],
    action: "Roll back",
    danger: true,
    work: sameSession(async () => {
      try {
        const done = await rollBack(id, later.querySelector("input").checked);
        tellRollback(id, done);
        return done;
      } catch (error) {
        later.hidden = !error.items?.length;
        later.querySelector("span").textContent = `Also roll back ${ids(error.items ?? [])}`;
        throw error;
      }
    }),
  });
}

const ids = (some) => some.map((one) => line(one, 40)).join(", ");

/** What was removed from the project is always named, all of it. */
function tellRollback(id, { files, removed, with_later: later, left, dependents }) {
  const done = `Rolled back ${line(id, 60)}${later.length ? ` and ${ids(later)}` : ""}: ${count(files.length, "file")} restored.`;
  const kept = dependents.length ? `Items completed on top of it stay completed: ${ids(dependents)}.` : "";
  if (!removed.length && !left.length) {
    say([done, kept].filter(Boolean).join(" "));
    return;
  }
  const fileList = (what, paths) => (paths.length ? [h("p", {}, what), h("ul", {}, paths.map((path) => said(path, "li")))] : []);
  const content = [h("p", {}, done), ...fileList("Removed:", removed), ...fileList("Changed during the attempt, but not by its file tools, and left unchanged:", left), kept && h("p", {}, kept)];
  openDialog({ title: "Rolled back", content: content.filter(Boolean) });
}
