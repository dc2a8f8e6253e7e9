/** What was done on an item: its attempts and its tool calls, in order; each opens to what it said and changed. */

import { get, sessionPath } from "./api.js";
import { Calls } from "./calls.js";
import { arrange, h, longText, said, setAttribute, setText } from "./dom.js";
import { commandBlock, diffBlock } from "./diff.js";
import { attempt, problemPlace } from "./feedback.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { clock, lasted } from "./time.js";
import { isCut, showAll } from "./whole_event.js";

function outcome(call) {
  const end = call.ended;
  if (!end) return ["●", "running", "running"];
  if (end.denied) return ["⊘", "blocked", "not allowed"];
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

function attemptRow(one) {
  const { started, ended } = one;
  const kind = !ended ? "running" : ended.outcome === "completed" ? "done" : ended.outcome === "conflict" ? "conflict" : "blocked";
  const words = ended ? `${line(ended.outcome)}${ended.again ? ", tried again" : ""} · ${lasted(ended.seconds)} · ${count(ended.tool_calls, "call")}` : "going on";
  return h(
    "li",
    { class: `try k-${kind}` },
    h("p", {}, h("b", {}, `Attempt ${started.attempt}`), ` · ${clock(started.timestamp)} · ${words}`),
    ended?.reason ? longText(ended.reason, { class: "try-reason" }, "p") : null,
    ended?.text ? longText(ended.text, { class: "try-text" }, "p") : null,
    ended?.files?.length ? h("p", { class: "fact" }, "Changed ", ended.files.slice(0, 12).map((file) => said(file, "code")), ended.files.length > 12 ? ` and ${ended.files.length - 12} more` : "") : null,
  );
}

export class History {
  constructor() {
    this.tries = h("ol", { class: "tries", role: "list" });
    this.list = h("ol", { class: "calls", role: "list", "aria-label": "Tool calls" });
    this.note = h("p", { class: "fact" });
    this.older = h("button", { type: "button", class: "link", on: { click: () => this.lookBack() } }, "Look in earlier events");
    this.problem = problemPlace();
    this.heading = h("h3", { tabindex: "-1" }, "Work on it");
    this.element = h("section", { class: "history" }, this.heading, this.tries, this.list, this.note, this.older, this.problem);
    this.rows = new Map();
    this.attempts = "";
    /** All calls of the item, once they were asked for; until then those that are in the log. */
    this.whole = null;
  }

  update(todo) {
    this.todo = todo;
    this.follow();
    const known = this.whole ?? store.calls;
    const calls = known.byItem.get(todo.id) ?? [];
    const tries = known.attempts.get(todo.id) ?? [];
    const signature = tries.map((one) => `${one.started.version} ${one.ended?.version}`).join();
    if (signature !== this.attempts) {
      this.attempts = signature;
      this.tries.replaceChildren(...tries.map(attemptRow));
    }
    const wanted = calls.map((call) => {
      const first = call.started ?? call.ended;
      if (!this.rows.has(first.version)) this.rows.set(first.version, callRow());
      const row = this.rows.get(first.version);
      if (row.call !== call || row.seen !== call.ended) setCall(row, call);
      row.seen = call.ended;
      return row.element;
    });
    arrange(this.list, wanted);
    const missing = Math.max(todo.tool_calls - calls.length, 0);
    const isOlder = store.log.first > 1 && !this.whole;
    this.older.hidden = !isOlder || (!missing && todo.status !== "pending" && tries.length > 0);
    setText(this.note, calls.length || tries.length ? (missing && isOlder ? `${count(missing, "earlier call")} not shown.` : "") : isOlder ? "Nothing in the latest events." : "Nothing yet.");
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
    for (const event of events) this.whole.take(event);
    this.read = Math.max(last, events.at(-1)?.version ?? 0);
    this.update(this.todo);
    this.heading.focus();
  }
}
