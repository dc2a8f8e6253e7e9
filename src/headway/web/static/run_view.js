/** The run of a session: what goes on, and its buttons. */

import { control, execute, message } from "./actions.js";
import { h, setAttribute, setText } from "./dom.js";
import { field, openDialog } from "./dialogs.js";
import { announce, attempt, problemPlace } from "./feedback.js";
import { runFields } from "./run_form.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { at, lasted } from "./time.js";
import { ENDINGS } from "./words.js";

const parts = {};
let told = "";

function button(name, title, act) {
  return h("button", { type: "button", title, on: { click: act } }, name);
}

export function mountRun(element) {
  parts.state = h("p", { class: "run-state" });
  parts.more = h("p", { class: "run-more said", dir: "auto" });
  parts.problem = problemPlace();
  parts.start = button("Execute all…", "Have the agent do all pending items (x)", () => startRun());
  parts.start.classList.add("primary");
  parts.message = button("Message…", "Tell the agent something (m)", () => sendMessage());
  parts.pause = button("Pause", "The run goes no further until it is resumed", (event) => want(event.currentTarget));
  parts.stop = button("Stop", "End the run; what is done stays done", (event) => want(event.currentTarget));
  parts.stop.dataset.action = "stop";
  element.append(
    h("div", { class: "run-words" }, parts.state, parts.more),
    h("div", { class: "run-buttons" }, parts.message, parts.start, parts.pause, parts.stop),
    parts.problem,
  );
}

function want(control_) {
  return attempt(control_, parts.problem, () => control(control_.dataset.action));
}

export function startRun() {
  if (!store.session || store.session.run?.goes_on) return;
  const open = [...store.session.items.values()].filter((todo) => todo.status === "pending").length;
  const fields = runFields();
  openDialog({
    title: "Execute the list",
    content: [h("p", {}, `${count(open, "pending item")}: each is done by the agent when everything it depends on is completed.`), ...fields.elements],
    action: "Execute all",
    work: () => execute(fields.read()),
  });
}

export function sendMessage() {
  if (!store.session || store.session.run?.goes_on) return;
  const text = h("textarea", { name: "text", rows: "4", dir: "auto" });
  openDialog({
    title: "Message to the agent",
    content: [field("What the agent is to do", text, "Left empty, it goes on where it was. What it does is in the log and in the list.")],
    action: "Send",
    work: () => message(text.value.trim() ? { text: text.value } : {}),
  });
}

function names(executing) {
  const ids = Object.keys(executing);
  return ids.slice(0, 4).map((id) => line(id, 30)).join(", ") + (ids.length > 4 ? ` and ${ids.length - 4} more` : "");
}

function going(run) {
  const batch = run.batch;
  const state = run.stopping ? "Stopping" : run.paused ? "Paused" : "Running";
  if (!batch) return { state, more: `${line(run.model, 60)} · round ${run.round} of ${run.max_rounds} · ${count(run.tool_calls, "tool call")}` };
  const executing = Object.keys(batch.executing).length ? `now: ${names(batch.executing)}` : "between items";
  const mode = { default: "asks first", auto_edit: "asks before commands", yolo: "never asks" }[batch.mode] ?? line(batch.mode);
  const several = batch.parallel > 1 ? ` · ${batch.parallel} at once` : "";
  return { state: `${state}, ${Math.min(batch.current_index, batch.total_count)} of ${batch.total_count} begun`, more: `${executing} · ${mode}${several} · ${line(run.model, 60)}` };
}

/** How the last run ended: why, if it is still in the log. */
function over(run) {
  const ended = store.log.events.findLast((event) => event.type === "RunFinished" && event.agent_id === "main");
  const batch = store.log.events.findLast((event) => event.type === "BatchFinished" && event.agent_id === "main");
  const outcome = run.batch && batch ? batch.outcome : run.reason;
  const seconds = ended ? (at(ended.timestamp) - at(run.started_at)) / 1000 : NaN;
  const done = run.batch && batch ? `${batch.completed} of ${batch.total} completed` : count(run.tool_calls, "tool call");
  const failed = batch?.failed_items?.length ? `failed: ${batch.failed_items.slice(0, 4).map((id) => line(id, 30)).join(", ")}` : "";
  const error = ended?.error ? line(ended.error, 300) : "";
  return { state: `Last run ${ENDINGS[outcome] ?? line(outcome)}`, more: [error, failed, done, lasted(seconds)].filter(Boolean).join(" · ") };
}

export function updateRun(dirty) {
  const session = store.session;
  if (!session || !(dirty.whole || dirty.run || dirty.events || dirty.items.size || dirty.order)) return;
  const run = session.run;
  const isOn = Boolean(run?.goes_on);
  const words = isOn ? going(run) : run ? over(run) : { state: "No run yet", more: session.items.size ? "The agent can do the items of this list." : "" };
  parts.kind = isOn ? (run.paused ? "paused" : "running") : "over";
  parts.words = words;
  setAttribute(parts.state.parentElement, "class", `run-words is-${parts.kind}`);
  setText(parts.more, words.more);
  tickRun(Date.now());
  const pending = [...session.items.values()].some((todo) => todo.status === "pending" || todo.status === "blocked");
  swap(parts.start, !isOn && pending);
  swap(parts.message, !isOn);
  swap(parts.stop, isOn && !run.stopping);
  swap(parts.pause, isOn && !run.stopping);
  parts.pause.dataset.action = run?.paused ? "resume" : "pause";
  setText(parts.pause, run?.paused ? "Resume" : "Pause");
  const now = run ? `${run.id} ${parts.kind}` : "";
  if (!dirty.whole && told && told !== now) announce(words.state);
  told = now;
}

/** Shows or hides a button; the focus does not fall into nothing. */
function swap(element, isShown) {
  if (element.hidden === !isShown) return;
  const had = element === document.activeElement;
  element.hidden = !isShown;
  if (had && !isShown) queueMicrotask(() => document.activeElement === document.body && (parts.start.hidden ? parts.stop.hidden ? parts.message : parts.stop : parts.start).focus());
}

/** The time goes on. */
export function tickRun(now) {
  if (!parts.words) return;
  const run = store.session?.run;
  const since = run?.goes_on ? ` · ${lasted(Math.max(0, Math.floor((now - at(run.started_at)) / 1000)))}` : "";
  setText(parts.state, parts.words.state + since);
}
