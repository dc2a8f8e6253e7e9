/** The run of a session: what goes on, and its buttons. */

import { control, execute, message, proceed } from "./actions.js";
import { h, setAttribute, setText } from "./dom.js";
import { field, openDialog } from "./dialogs.js";
import { announce, attempt, problemPlace } from "./feedback.js";
import { lookAtProject, project } from "./project.js";
import { messageFields, NO_MODEL, runFields } from "./run_form.js";
import { sameSession } from "./same_session.js";
import { saidPlace, updateSaid } from "./said_view.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { at, lasted, since } from "./time.js";
import { ENDINGS, modeWords } from "./words.js";

const parts = {};
let told = "";

function button(name, title, act) {
  return h("button", { type: "button", title, on: { click: act } }, name);
}

export function mountRun(element) {
  parts.state = h("p", { class: "run-state" });
  parts.more = h("p", { class: "run-more said", dir: "auto" });
  parts.problem = problemPlace();
  parts.start = button("Execute all…", "Have the agent work on all pending items (x)", () => startRun());
  parts.start.classList.add("primary");
  parts.message = button("Message…", "Send the agent a message (m)", () => sendMessage());
  parts.resume = button("Resume", "", (event) => attempt(event.currentTarget, parts.problem, () => proceed()));
  parts.resume.classList.add("primary");
  parts.pause = button("Pause", "Pause the run until you resume it", (event) => want(event.currentTarget));
  parts.stop = button("Stop", "End the run; completed work is kept", (event) => want(event.currentTarget));
  parts.stop.dataset.action = "stop";
  element.append(
    h("div", { class: "run-words" }, parts.state, parts.more, saidPlace()),
    h("div", { class: "run-buttons" }, parts.message, parts.start, parts.resume, parts.pause, parts.stop),
    parts.problem,
  );
  document.addEventListener("visibilitychange", () => document.hidden || !store.session || look());
}

async function look() {
  await lookAtProject();
  store.mark({ run: true });
}

function want(control_) {
  if (control_.getAttribute("aria-disabled") === "true") return undefined;
  return attempt(control_, parts.problem, () => control(control_.dataset.action));
}

export function startRun() {
  if (!store.session || store.session.run?.goes_on) return;
  const has = (status) => [...store.session.items.values()].filter((todo) => todo.status === status).length;
  const again = has("blocked") ? " Blocked items that failed in an earlier execution are retried." : "";
  const fields = runFields();
  openDialog({
    title: "Execute the list",
    content: [h("p", {}, `${count(has("pending"), "pending item")}. The agent starts each one when everything it depends on is completed.${again}`), ...fields.elements],
    action: "Execute all",
    work: sameSession(() => execute(fields.read())),
  });
}

export function sendMessage() {
  if (!store.session || store.session.run?.goes_on) return;
  const text = h("textarea", { name: "text", rows: "4", dir: "auto" });
  const fields = messageFields();
  openDialog({
    title: "Message to the agent",
    content: [field("What should the agent do?", text, "Leave empty to continue where the agent stopped. Follow its work in the log and the list."), ...fields.elements],
    action: "Send",
    work: sameSession(() => message({ ...fields.read(), ...(text.value.trim() ? { text: text.value } : {}) })),
  });
}

const INTERRUPTED = ["cancelled", "error", "interrupted", "max_rounds", "max_tokens", "max_cost"];

/** Of the last run, while it is still in the log. */
const own = (run, type) => store.log.events.findLast((event) => event.type === type && event.agent_id === "main" && at(event.timestamp) >= at(run.started_at));

/** What would go on where an interrupted run ended, in words; null if nothing would. */
function rest({ run, items }) {
  if (!run || run.goes_on || !INTERRUPTED.includes(run.reason)) return null;
  const how = `(${modeWords(run.mode ?? "default")})`;
  if (!run.batch) return `Continue where the agent stopped ${how}`;
  const batch = own(run, "BatchStarted");
  const isOpen = (todo) => todo?.status === "pending" || todo?.status === "blocked";
  const isLeft = batch && (batch.only ? isOpen(items.get(batch.only)) : [...items.values()].some(isOpen));
  if (!isLeft || own(run, "BatchFinished")?.outcome === "complete") return null;
  const what = batch.only ? `Execute ${line(batch.only, 60)} again` : "Continue with the remaining items";
  return `${what} with the same settings ${how}`;
}

function some(ids) {
  return ids.slice(0, 4).map((id) => line(id, 30)).join(", ") + (ids.length > 4 ? ` and ${ids.length - 4} more` : "");
}

/** Whether plan mode pauses the execution. */
const isPausedByPlanMode = (run) => Boolean(run.batch && store.session.plan_mode);

function going(run) {
  const batch = run.batch;
  const paused = isPausedByPlanMode(run) ? "Paused until plan mode is off" : "Paused";
  const state = run.stopping ? "Stopping" : run.paused ? paused : run.pausing ? "Pausing after this round" : "Running";
  if (!batch) return { state, more: `${modeWords(run.mode)} · ${line(run.model, 60)} · round ${run.round} of ${run.max_rounds} · ${count(run.tool_calls, "tool call")}` };
  const executing = Object.keys(batch.executing).length ? `now: ${some(Object.keys(batch.executing))}` : "between items";
  const several = batch.parallel > 1 ? ` · ${batch.parallel} in parallel` : "";
  return { state: `${state}, ${Math.min(batch.current_index, batch.total_count)} of ${batch.total_count} started`, more: `${executing} · ${modeWords(run.mode)}${several} · ${line(run.model, 60)}` };
}

/** How the last run ended: why, if it is still in the log. */
function over(run) {
  const ended = own(run, "RunFinished");
  const batch = run.batch && own(run, "BatchFinished");
  const outcome = batch?.outcome ?? run.reason;
  const seconds = ended ? (at(ended.timestamp) - at(run.started_at)) / 1000 : NaN;
  const done = batch ? `${batch.completed} of ${batch.total} completed` : run.batch || !run.tool_calls ? "" : count(run.tool_calls, "tool call");
  const failed = batch?.failed_items?.length > 1 ? `failed: ${some(batch.failed_items)}` : "";
  const error = ended?.error ? line(ended.error, 300) : "";
  return { state: `Last run ${ENDINGS[outcome] ?? line(outcome)}`, more: [error, failed, done, lasted(seconds).replace(" ", "\u00a0"), modeWords(run.mode)].filter(Boolean).join(" · ") };
}

function idle(session) {
  const words = session.run ? over(session.run) : { state: "No run yet", more: session.items.size ? "The agent can work through this list." : "" };
  return project && !project.model ? { ...words, more: [session.run ? words.more : "", NO_MODEL].filter(Boolean).join(" · ") } : words;
}

export function updateRun(dirty) {
  const session = store.session;
  if (!session || !(dirty.whole || dirty.run || dirty.events || dirty.items.size || dirty.order)) return;
  const run = session.run;
  const isOn = Boolean(run?.goes_on);
  const words = isOn ? going(run) : idle(session);
  if (dirty.whole && !project) look();
  parts.kind = isOn ? (run.paused ? "paused" : "running") : "over";
  parts.words = words;
  setAttribute(parts.state.parentElement, "class", `run-words is-${parts.kind}`);
  setText(parts.more, words.more);
  updateSaid(run);
  tickRun(Date.now());
  const pending = [...session.items.values()].some((todo) => todo.status === "pending" || todo.status === "blocked");
  const left = rest(session);
  setAttribute(parts.resume, "title", left);
  parts.start.classList.toggle("primary", !left);
  show([[parts.start, !isOn && pending], [parts.stop, isOn], [parts.message, !isOn], [parts.resume, Boolean(left)], [parts.pause, isOn && !run.stopping && !isPausedByPlanMode(run)]]);
  setAttribute(parts.stop, "aria-disabled", run?.stopping ? "true" : null);
  setText(parts.stop, run?.stopping ? "Stopping…" : "Stop");
  const isHeld = run?.paused || run?.pausing;
  parts.pause.dataset.action = isHeld ? "resume" : "pause";
  setText(parts.pause, isHeld ? "Resume" : "Pause");
  const now = run ? `${run.id} ${parts.kind}` : "";
  if (!dirty.whole && told && told !== now) announce(words.state);
  told = now;
}

/** Shows some buttons and hides the others; the focus does not fall into nothing. */
function show(buttons) {
  const focused = buttons.find(([element]) => element === document.activeElement);
  for (const [element, isShown] of buttons) if (element.hidden === isShown) element.hidden = !isShown;
  if (focused?.[0].hidden) buttons.find(([element]) => !element.hidden)?.[0].focus();
}

/** The time goes on. */
export function tickRun(now) {
  if (!parts.words) return;
  const run = store.session?.run;
  setText(parts.state, parts.words.state + (run?.goes_on ? ` · ${since(now - at(run.started_at))}` : ""));
}
