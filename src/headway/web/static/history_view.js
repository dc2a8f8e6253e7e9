/** What was done on an item: its attempts and its tool calls, in order; each opens to what it said and changed. */

import { arrange, h, longText, said, setAttribute, setText } from "./dom.js";
import { commandBlock, diffBlock } from "./diff.js";
import { attempt, problemPlace } from "./feedback.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { clock, lasted } from "./time.js";

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
  const row = { element: h("li", { class: "call" }, details), mark, what, how, body, details, call: null, filled: null };
  details.addEventListener("toggle", () => details.open && fill(row));
  return row;
}

function fill(row) {
  const { started, ended } = row.call;
  if (row.filled === ended) return;
  row.filled = ended;
  const files = ended?.files?.length ? h("p", { class: "fact" }, "Files ", ended.files.slice(0, 20).map((file) => said(file, "code"))) : null;
  row.body.replaceChildren(
    ...[
      h("p", { class: "fact" }, said(ended?.tool ?? started?.tool ?? "", "code"), ` · ${clock((started ?? ended).timestamp)} · ${line((ended ?? started).agent_id, 60)}`),
      ended?.command ? commandBlock(ended.command) : null,
      ended?.diff ? diffBlock(ended.diff) : null,
      files,
      ended?.text ? longText(ended.text, { class: "output", tabindex: "0" }, "div") : null,
    ].filter(Boolean),
  );
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
    this.heading = h("h3", {}, "Work on it");
    this.element = h("section", { class: "history" }, this.heading, this.tries, this.list, this.note, this.older, this.problem);
    this.rows = new Map();
    this.attempts = "";
  }

  update(todo) {
    const calls = store.calls.byItem.get(todo.id) ?? [];
    const tries = store.calls.attempts.get(todo.id) ?? [];
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
    const isOlder = store.log.first > 1;
    this.older.hidden = !isOlder || (!missing && todo.status !== "pending" && tries.length > 0);
    setText(this.note, calls.length || tries.length ? (missing && isOlder ? `${count(missing, "earlier call")} not shown.` : "") : isOlder ? "Nothing in the latest events." : "Nothing yet.");
  }

  lookBack() {
    return attempt(this.older, this.problem, () => store.loadOlder(1_000));
  }
}
