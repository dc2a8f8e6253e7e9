/** What is done with one item from anywhere: its status, its place, dropping it, executing it, rolling it back. */

import { drop, edit, execute, move, rollBack, undo } from "./actions.js";
import { h, said } from "./dom.js";
import { openDialog, tick } from "./dialogs.js";
import { attempt, say, showProblem } from "./feedback.js";
import { openMenu } from "./menu.js";
import { runFields } from "./run_form.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { plainMark, STATUS_NAMES, STATUSES } from "./words.js";

const KIND = { pending: "quiet", in_progress: "running", completed: "done", blocked: "blocked", cancelled: "quiet" };
const takeBack = { name: "Undo", run: () => attempt(null, null, undo) };

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
  openMenu(anchor, `Status of ${line(id, 60)}`, choices, (status) => status !== todo.status && setStatus(id, status, anchor, place));
}

export async function setStatus(id, status, control, place = null) {
  const done = await attempt(control, place, () => edit(id, { status }));
  if (done) say(`${line(id, 60)}: ${STATUS_NAMES[status].toLowerCase()}.`, takeBack);
}

/** To a position counted from 1; one that is not there is the nearest that is. */
export async function moveItem(id, position) {
  const ids = [...store.session.items.keys()];
  const wanted = Math.min(Math.max(position, 1), ids.length);
  if (ids.indexOf(id) + 1 === wanted) return;
  const done = await attempt(null, null, () => move(id, wanted));
  if (done) say(`${line(id, 60)} is now ${wanted} of ${ids.length}.`, takeBack);
}

export async function dropItem(id, control = null, place = null) {
  const content = store.session.items.get(id)?.content ?? id;
  const done = await attempt(control, place, () => drop(id));
  if (done) say(`Dropped “${line(content, 80)}”.`, takeBack);
}

/** Asks how, and has the agent do the item. */
export function executeItem(id) {
  const fields = runFields({ one: true });
  openDialog({
    title: "Execute this item",
    content: [said(line(store.session.items.get(id)?.content ?? id, 300), "p", { class: "quoted" }), ...fields.elements],
    action: "Execute",
    work: () => execute({ only: id, ...fields.read() }),
  });
}

/** Asks, and brings back the files; if others changed them since, says so and asks again. */
export function rollBackItem(id) {
  const force = tick("Bring the files back all the same; what others changed in them since is lost", "force");
  force.hidden = true;
  const { problem } = openDialog({
    title: "Roll back this item",
    content: [
      said(line(store.session.items.get(id)?.content ?? id, 300), "p", { class: "quoted" }),
      h("p", {}, "The files that it changed when it was last executed become as they were before, and the item is pending again."),
      force,
    ],
    action: "Roll back",
    danger: true,
    work: async () => {
      try {
        const done = await rollBack(id, force.querySelector("input").checked);
        const others = done.dependents.length ? ` Done on top of it, and left as they are: ${done.dependents.map((one) => line(one, 40)).join(", ")}.` : "";
        say(`Rolled back ${line(id, 60)}: ${count(done.files.length, "file")} as before.${others}`);
        return done;
      } catch (error) {
        force.hidden = !error.message.includes("--force");
        if (!force.hidden) error.message = error.message.replace(/ (Roll that back first, or use|Use) --force.*$/, (all, first) => (first === "Use" ? "" : " Roll that back first, or choose below."));
        throw error;
      }
    },
  });
  return { problem, showProblem };
}
