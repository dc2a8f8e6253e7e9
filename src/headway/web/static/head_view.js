/** The head of a session: its title, how far it is, undo and redo, the report. */

import { makeCurrent, redo, reportLink, undo } from "./actions.js";
import { h, setAttribute, setText } from "./dom.js";
import { attempt, problemPlace, say } from "./feedback.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { kindOf, STATUS_NAMES } from "./words.js";

const SINGLY = 60;
const ORDER = ["done", "reported", "running", "blocked", "quiet"];
const parts = {};

export function mountHead(element) {
  parts.name = h("p", { class: "eyebrow said", dir: "auto" });
  parts.title = h("h1", { class: "said", dir: "auto" });
  parts.figures = h("p", { class: "figures", id: "figures" });
  parts.strip = h("div", { class: "strip", role: "progressbar", "aria-labelledby": "figures", "aria-valuemin": "0" });
  parts.problem = problemPlace();
  parts.undo = h("button", { type: "button", class: "plain", title: "Undo the last change, including file changes (u)" }, "Undo");
  parts.redo = h("button", { type: "button", class: "plain", title: "Redo the last undone change (Shift+u)" }, "Redo");
  parts.report = h("a", { class: "plain", target: "_blank", rel: "noopener" }, "Report", h("span", { "aria-hidden": "true" }, " ↗"));
  parts.current = h("button", { type: "button", class: "plain", hidden: true, title: "Terminal commands will use this session" }, "Make current");
  parts.current.addEventListener("click", async () => {
    const name = store.session.name;
    if (!(await attempt(parts.current, parts.problem, () => makeCurrent(name)))) return;
    say(`“${line(name, 60)}” is the current session.`);
    await store.loadSessions().catch(() => {});
  });
  parts.undo.addEventListener("click", () => back("undo"));
  parts.redo.addEventListener("click", () => back("redo"));
  element.append(
    h("div", { class: "head-line" }, h("div", { class: "titles" }, parts.name, parts.title), h("div", { class: "tools" }, parts.current, parts.undo, parts.redo, parts.report)),
    parts.strip,
    parts.figures,
    parts.problem,
  );
}

/** Undo or redo, by button or key. */
export async function back(which) {
  const control = parts[which];
  if (control.getAttribute("aria-disabled") === "true") return say(`Nothing to ${which}.`);
  const { name } = store.session;
  const done = await attempt(control, parts.problem, which === "undo" ? undo : redo);
  const opposite = which === "undo" ? "redo" : "undo";
  if (done) say(`${which === "undo" ? "Undid" : "Redid"}: ${done.did.map((one) => one.trim()).join(" ")}`, { name: which === "undo" ? "Redo" : "Undo", run: () => store.session?.name === name && back(opposite) });
}

function counted(items) {
  const status = Object.fromEntries(Object.keys(STATUS_NAMES).map((name) => [name, 0]));
  const kinds = new Map(ORDER.map((kind) => [kind, 0]));
  for (const todo of items) {
    status[todo.status] += 1;
    kinds.set(kindOf(todo), kinds.get(kindOf(todo)) + 1);
  }
  return { status, kinds };
}

function words(status, kinds, total) {
  if (!total) return "No items yet";
  const some = [
    kinds.get("done") ? `${kinds.get("done")} verified` : "",
    status.in_progress ? `${status.in_progress} in progress` : "",
    status.pending ? `${status.pending} pending` : "",
    status.blocked ? `${status.blocked} blocked` : "",
    status.cancelled ? `${status.cancelled} cancelled` : "",
  ].filter(Boolean);
  return `${status.completed} of ${total} completed${some.length ? ` · ${some.join(" · ")}` : ""}`;
}

/** Each item by itself while there is room, else how many are how. */
function drawStrip(items, kinds) {
  const wanted = items.length <= SINGLY ? items.map((todo) => [kindOf(todo), 1]) : [...kinds].filter(([, number]) => number);
  while (parts.strip.childElementCount > wanted.length) parts.strip.lastElementChild.remove();
  while (parts.strip.childElementCount < wanted.length) parts.strip.append(h("span"));
  wanted.forEach(([kind, number], index) => {
    const piece = parts.strip.children[index];
    setAttribute(piece, "class", `k-${kind}`);
    piece.style.setProperty("flex-grow", number);
  });
}

/** It opens in another tab, and is good for this start of the server. */
async function linkReport(session) {
  const link = await reportLink(session.name).catch(() => null);
  if (store.session?.name === session.name) setAttribute(parts.report, "href", link);
}

export function updateHead(dirty) {
  const session = store.session;
  if (!session) return;
  if (dirty.whole || dirty.title) {
    const own = session.title && session.title !== "Agent Tasks";
    setText(parts.name, own ? line(session.name, 200) : "Session");
    setText(parts.title, line(own ? session.title : session.name, 300));
  }
  if (dirty.whole || (dirty.connection && store.isConnected)) linkReport(session);
  const own = store.sessions?.find((one) => one.name === session.name);
  parts.current.hidden = !own || own.current;
  setAttribute(parts.undo, "aria-disabled", session.can_undo ? null : "true");
  setAttribute(parts.redo, "aria-disabled", session.can_redo ? null : "true");
  if (!(dirty.whole || dirty.items.size || dirty.order)) return;
  const items = [...session.items.values()];
  const { status, kinds } = counted(items);
  drawStrip(items, kinds);
  setText(parts.figures, words(status, kinds, items.length));
  const finished = status.completed + status.cancelled;
  setAttribute(parts.strip, "aria-valuemax", Math.max(items.length, 1));
  setAttribute(parts.strip, "aria-valuenow", finished);
}
