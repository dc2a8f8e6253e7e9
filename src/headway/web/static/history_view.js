/** What was done on an item: its attempts with their tool calls, in order; each opens to what it said and changed. */

import { get, sessionPath } from "./api.js";
import { Calls } from "./calls.js";
import { arrange, h, longText, said, setAttribute, setText } from "./dom.js";
import { commandBlock, diffBlock } from "./diff.js";
import { attempt, problemPlace } from "./feedback.js";
import { ItemChanges } from "./item_changes.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { clock, lasted } from "./time.js";
import { isCut, showAll } from "./whole_event.js";

const MOST = 200; // attempts that are shown

function outcome(call) {
  const end = call.ended;
  if (!end) return call.left ? ["⊘", "quiet", "interrupted"] : ["●", "running", "running"];
  if (end.denied) return ["⊘", "blocked", "denied"];
  if (end.cancelled) return ["⊘", "quiet", "cancelled"];
  if (end.exit_code) return ["✗", "blocked", `exit code ${end.exit_code}`];
  if (!end.ok) return ["✗", "blocked", "failed"];
  return ["✓", "done", "ok"];
}

function callRow() {
  const mark = h("span", { class: "call-mark", "aria-hidden": "true" });
  const what = h("span", { class: "call-what said", dir: "auto" });
  const how = h("span", { class: "call-how" });
  const body = h("div", { class: "call-body" });
  const details = h("details", {}, h("summary", {}, mark, what, how), body);
  const row = { element: h("li", { class: "call" }, details), mark, what, how, body, details, call: null, filled: undefined };
  details.addEventListener("toggle", () => details.open && fill(row));
  return row;
}

function fill(row) {
  const { started, ended } = row.call;
  if (row.filled === ended) return;
  row.filled = ended;
  const put = (end, isWhole) => {
    const files = end?.files?.length ? h("p", { class: "fact" }, "Files ", end.files.slice(0, 20).map((file) => said(file, "code"))) : null;
    row.body.replaceChildren(
      ...[
        h("p", { class: "fact" }, said(end?.tool ?? started?.tool ?? "", "code"), ` · ${clock((started ?? end).timestamp)} · ${line((end ?? started).agent_id, 60)}`),
        end?.command ? commandBlock(end.command) : null,
        end?.diff ? diffBlock(end.diff) : null,
        files,
        end?.text ? longText(end.text, { class: "output", tabindex: "0" }, "div", isWhole || isCut(end) ? Infinity : undefined) : null,
        end && showAll(end, (whole) => {
          put(whole, true);
          row.details.firstElementChild.focus({ preventScroll: true });
        }),
      ].filter(Boolean),
    );
  };
  put(ended, false);
}

function setCall(row, call) {
  const [mark, kind, words] = outcome(call);
  row.call = call;
  setAttribute(row.element, "class", `call k-${kind}`);
  setText(row.mark, mark);
  setText(row.what, line(call.ended?.command ?? call.started?.summary ?? call.ended?.tool, 160));
  setText(row.how, call.ended ? `${words === "ok" ? "" : `${words}, `}${lasted(call.ended.seconds)}` : words);
  if (row.details.open) fill(row);
}

/** All of them: what is gone or left is named, however much it is. */
const fileList = (what, files) => (files?.length ? h("p", { class: "fact" }, `${what} `, files.map((file) => said(file, "code"))) : null);

const isAttempt = (one) => one.began.type === "ItemStarted";

function rolledBack(event) {
  const files = event.files ?? [];
  return [h("p", {}, h("b", {}, `Rolled back (${count(files.length, "file")})`), ` · ${clock(event.timestamp)}`), fileList("Removed", event.removed)].filter(Boolean);
}

function wordsOf(one) {
  const { ended, left } = one;
  if (!ended) return left ? "interrupted" : "in progress";
  return `${line(ended.outcome)}${ended.again ? ", retried" : ""} · ${lasted(ended.seconds)} · ${count(ended.tool_calls, "call")}`;
}

function kindOf(one) {
  if (!one.ended) return one.left || !isAttempt(one) ? "quiet" : "running";
  return { completed: "done", conflict: "conflict" }[one.ended.outcome] ?? "blocked";
}

function tried(one, name) {
  const { began, ended } = one;
  return [
    h("p", {}, h("b", {}, name), ` · ${clock(began.timestamp)} · ${wordsOf(one)}`),
    ended?.reason ? longText(ended.reason, { class: "try-reason" }, "p") : null,
    ended?.text ? longText(ended.text, { class: "try-text" }, "p") : null,
    ended?.files?.length ? h("p", { class: "fact" }, "Changed ", ended.files.slice(0, 12).map((file) => said(file, "code")), ended.files.length > 12 ? ` and ${ended.files.length - 12} more` : "") : null,
    fileList("Removed", ended?.removed),
    ended?.outcome === "completed" && ended.not_merged?.length && !ended.files?.length ? h("p", { class: "fact" }, "None of its changes were merged into the project's files.") : null,
    fileList("Not merged (ignored, copied or linked)", ended?.not_merged),
    fileList("Changed during the attempt, but not by its file tools", ended?.by_others),
    ended?.committed ? h("p", { class: "fact" }, "Its commits were merged as uncommitted changes.") : null,
    ended?.worktree ? fileList("Its worktree is kept until the next attempt:", [ended.worktree]) : null,
  ].filter(Boolean);
}

/** An attempt with its calls, or a rollback. */
function pastRow() {
  const about = h("div");
  const list = h("ol", { class: "calls", role: "list" });
  return { element: h("li", {}, about, list), about, list, signature: "" };
}

function setPast(row, one, name) {
  const signature = `${name} ${one.ended?.version} ${Boolean(one.left)}`;
  if (signature === row.signature) return;
  row.signature = signature;
  setAttribute(row.about, "class", `try k-${kindOf(one)}`);
  setAttribute(row.list, "aria-label", `Tool calls, ${name.toLowerCase()}`);
  row.about.replaceChildren(...(isAttempt(one) ? tried(one, name) : rolledBack(one.began)));
}

/** The row for a key, made if there is none. */
function rowOf(rows, key, make) {
  if (!rows.has(key)) rows.set(key, make());
  return rows.get(key);
}

function prune(rows, wanted) {
  for (const key of [...rows.keys()]) if (!wanted.has(key)) rows.delete(key);
}

export class History {
  constructor() {
    this.tries = h("ol", { class: "tries", role: "list" });
    this.list = h("ol", { class: "calls", role: "list", "aria-label": "Tool calls" });
    this.note = h("p", { class: "fact" });
    this.older = h("button", { type: "button", class: "link", on: { click: () => this.lookBack() } }, "Search earlier events");
    this.problem = problemPlace();
    this.heading = h("h3", { tabindex: "-1" }, "Activity");
    this.changes = new ItemChanges();
    this.element = h("section", { class: "history" }, this.heading, this.changes.element, this.tries, this.list, this.note, this.older, this.problem);
    this.rows = new Map();
    this.pastRows = new Map();
    /** All calls of the item, once they were asked for; until then those that are in the log. */
    this.whole = null;
  }

  update(todo) {
    this.todo = todo;
    this.follow();
    const known = this.whole ?? store.calls;
    const calls = known.byItem.get(todo.id) ?? [];
    const past = known.past.get(todo.id) ?? [];
    const last = past.at(-1);
    this.changes.update(todo, last && isAttempt(last) && last.ended ? last : null);
    const rest = this.drawPast(past, calls, known.from <= 1);
    this.list.hidden = !rest.length;
    arrange(this.list, rest);
    const missing = Math.max(todo.tool_calls - calls.length, 0);
    const isOlder = store.log.first > 1 && !this.whole;
    this.older.hidden = !isOlder || (!missing && todo.status !== "pending" && past.length > 0);
    setText(this.note, calls.length || past.length ? (missing && isOlder ? `${count(missing, "earlier call")} not shown.` : "") : isOlder ? "No activity in the latest events." : "No activity yet.");
  }

  /** Attempts with their calls, numbered if none before them can be unknown; rows of the calls that belong to none. */
  drawPast(past, calls, isAll) {
    const groups = new Map(past.filter(isAttempt).map((one) => [one.began.agent, []]));
    const rest = [];
    for (const call of calls) (groups.get((call.started ?? call.ended).agent_id) ?? rest).push(this.drawCall(call));
    prune(this.rows, new Set(calls.map((call) => (call.started ?? call.ended).version)));
    prune(this.pastRows, new Set(past.map((one) => one.began.version)));
    let number = 0;
    const wanted = past.map((one) => {
      if (isAttempt(one)) number += 1;
      const row = rowOf(this.pastRows, one.began.version, pastRow);
      setPast(row, one, isAttempt(one) ? `Attempt${isAll ? ` ${number}` : ""}` : "Rolled back");
      const own = (isAttempt(one) && groups.get(one.began.agent)) || [];
      row.list.hidden = !own.length;
      arrange(row.list, own);
      return row.element;
    });
    arrange(this.tries, wanted.slice(-MOST));
    return rest;
  }

  drawCall(call) {
    const row = rowOf(this.rows, (call.started ?? call.ended).version, callRow);
    const state = call.ended ?? call.left;
    if (row.call !== call || row.seen !== state) setCall(row, call);
    row.seen = state;
    return row.element;
  }

  /** Goes on with what is new in the log, as long as nothing between is missing. */
  follow() {
    if (!this.whole) return;
    if (store.log.first > this.read + 1) this.whole = null;
    else for (const event of store.log.events.filter((one) => one.version > this.read)) this.whole.take(event);
    this.read = store.log.last;
  }

  /** Asks for all that happened to the item. */
  async lookBack() {
    const { last } = store.log;
    const path = sessionPath(store.session.name, `/events?item=${encodeURIComponent(this.todo.id)}&limit=1000`);
    const events = await attempt(this.older, this.problem, () => get(path));
    if (!events) return;
    this.whole = new Calls();
    this.whole.from = 0;
    for (const event of events) this.whole.take(event);
    this.read = Math.max(last, events.at(-1)?.version ?? 0);
    this.update(this.todo);
    store.mark({ items: [this.todo.id] }); // it may be known now whether it can be rolled back
    this.heading.focus();
  }
}
