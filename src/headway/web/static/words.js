/** Statuses, marks and events in words. */

import { count, line } from "./text.js";
import { lasted } from "./time.js";

export const STATUSES = ["pending", "in_progress", "completed", "blocked", "cancelled"];
export const STATUS_NAMES = {
  pending: "Pending",
  in_progress: "In progress",
  completed: "Completed",
  blocked: "Blocked",
  cancelled: "Cancelled",
};
const MARKS = { pending: "○", in_progress: "●", completed: "✓", blocked: "✗", cancelled: "⊘" };
const KINDS = { pending: "quiet", in_progress: "running", completed: "done", blocked: "blocked", cancelled: "quiet" };
export const PRIORITIES = ["high", "medium", "low"];
/** How much a run asks: what is chosen, and how it is said of a run. */
export const MODES = {
  default: { choice: "Ask before every change and command", asks: "asks first" },
  auto_edit: { choice: "Edit files without asking, ask before commands", asks: "asks before commands" },
  sandboxed: { choice: "Edit files and run commands in the sandbox without asking", asks: "asks about nothing in the sandbox" },
  yolo: { choice: "Never ask", asks: "never asks" },
};

/** The mode of a run; null where the log does not say. */
export const modeWords = (mode) => (mode === null ? "mode not known" : Object.hasOwn(MODES, mode) ? `${mode}: ${MODES[mode].asks}` : line(mode, 30));

/** How sure it is that a completed item is done: verified, command ok, reported or inferred. */
export function levelOf(todo) {
  return todo.status === "completed" ? line(todo.evidence?.level ?? "reported", 40).replace("_", " ") : null;
}

/** ✓ for what is verified, ✓? for what is completed and not verified. */
export function markOf(todo) {
  return todo.status === "completed" && levelOf(todo) !== "verified" ? "✓?" : (MARKS[todo.status] ?? "○");
}

export const plainMark = (status) => MARKS[status] ?? "○";

/** Which colours an item has. */
export function kindOf(todo) {
  if (todo.status === "completed" && levelOf(todo) !== "verified") return "reported";
  return KINDS[todo.status] ?? "quiet";
}

export function statusOf(todo) {
  const name = STATUS_NAMES[todo.status] ?? line(todo.status);
  if (todo.status === "completed") return `${name}, ${levelOf(todo)}`;
  return todo.interrupted ? `${name}, interrupted` : name;
}

/** Who, in words: the person who looks is “You”. */
export function who(actor) {
  return actor === "user" ? "You" : line(actor.replace(/^user:/, ""), 60);
}

/** Whether a person acts: you, or someone with a name. */
export const isPerson = (actor) => actor === "user" || actor.startsWith("user:");

/** Whose event it is: of an agent, or of whoever changed something. */
export function whose(event) {
  if (event.agent_id !== "main") return line(event.agent_id, 40);
  return event.actor === "loop" ? "main agent" : who(event.actor);
}

export const ENDINGS = {
  complete: "complete",
  failed: "failed",
  waiting: "ended with items left",
  interrupted: "interrupted",
  finished: "finished",
  all_done: "finished, all items done",
  max_rounds: "stopped at the round limit",
  max_tokens: "stopped at the token limit",
  max_cost: "stopped at the cost limit",
  cancelled: "stopped",
  error: "ended with an error",
};

const name = (id) => line(id, 60);

/** As it is given; if its provider is called the same, once. */
function modelName(model) {
  const [provider, ...own] = String(model).split(":");
  return line(own.join(":") === provider ? provider : model, 80);
}

function ofChange(change) {
  if (change.kind === "moved") return "moved items";
  if (change.status) return `${name(change.id)}: ${change.status[0].replace("_", " ")} → ${change.status[1].replace("_", " ")}`;
  if (change.kind === "changed") return `${name(change.id)}: changed ${change.fields.join(", ").replaceAll("_", " ")}`;
  return `${change.kind} ${name(change.id)}: ${line(change.content, 120)}`;
}

function ofList(event) {
  const cause = ["undo", "redo", "clear", "plan", "rollback", "import", "claim", "release"].includes(event.cause) ? `${event.cause} — ` : "";
  const made = event.changes.filter((one) => one.status || one.kind !== "changed");
  const first = (made.length ? made : event.changes).slice(0, 3).map(ofChange);
  const more = event.changes.length - first.length;
  return cause + (first.join("; ") || "the list") + (more > 0 ? `; and ${more}${event.changes.length >= 100 ? " or" : ""} more` : "");
}

/** Who wrote a message: of the main agent's, the person. */
const speaker = (event) => (event.role === "assistant" ? "said" : event.agent_id === "main" ? "You" : "prompt");

const removedFiles = (event) => (event.removed?.length ? `, removed: ${event.removed.map((path) => line(path, 300)).join(", ")}` : "");

const EVENTS = {
  TodoListUpdated: ofList,
  LeaseRenewed: (event) => `renewed the claim on ${name(event.id)}`,
  PlanUpdated: (event) => (event.plan ? `set the plan “${line(event.plan.title, 100)}”` : "removed the plan"),
  PlanModeChanged: (event) => `turned plan mode ${event.on ? "on" : "off"}`,
  CompletionLogged: () => "wrote the finished list to the completion log",
  TodoListItemProgress: (event) => `${name(event.item_id)}: ${count(event.tool_calls_count, "call")}, ${line(event.tool)} ${event.denied ? "denied" : event.ok ? "ok" : "failed"}`,
  TodoListCompleted: () => "the list is complete",
  TodoListContextInjected: (event) => `showed the model the list (${count(event.total_items, "item")})`,
  TodoEvaluationStarted: (event) => `judging ${name(event.item_id)}`,
  TodoEvaluationCompleted: (event) => `judged ${name(event.item_id)}: ${event.status ?? "unchanged"} — ${line(event.reason, 160)}`,
  RunStarted: (event) => `run started with ${modelName(event.model)}${event.mode ? `, mode ${line(event.mode, 30)}` : ""}${event.new_conversation ? ", in a new conversation" : ""}`,
  RoundStarted: (event) => `round ${event.round} of ${event.max_rounds}`,
  ToolStarted: (event) => `${line(event.summary || event.tool, 240)}`,
  ToolFinished: (event) => `${line(event.command ?? event.tool, 160)} — ${event.denied ? "denied" : event.cancelled ? "cancelled" : event.exit_code ? `exit code ${event.exit_code}` : event.ok ? "ok" : "failed"}, ${lasted(event.seconds)}`,
  ApprovalAsked: (event) => `asks: ${line(event.line, 200)}`,
  ApprovalAnswered: (event) => `answered “${event.reply}”${event.reason ? `: ${line(event.reason, 160)}` : ""}`,
  Usage: (event) => `${event.input_tokens.toLocaleString("en")} tokens in, ${event.output_tokens.toLocaleString("en")} out`,
  RunError: (event) => (event.retry_in === null ? `error: ${line(event.message, 240)}` : `error: ${line(event.message.replace(/; [^;]*$/, ""), 240)}; retrying in ${lasted(event.retry_in)}`),
  RunRequested: (event) => `asked the run to ${line(event.request)}`,
  RunPaused: (event) => `paused after round ${event.round}`,
  MessageAdded: (event) => (event.text ? `${speaker(event)}: ${line(event.text, 240)}` : "added a message to the conversation"),
  ConversationCompacted: () => "summarised the conversation so far",
  RunFinished: (event) => `run ${ENDINGS[event.reason] ?? line(event.reason)}${event.rounds ? ` after ${count(event.rounds, "round")}` : ""}${event.error ? `: ${line(event.error, 200)}` : ""}`,
  BatchStarted: (event) => `executing ${count(event.total, "item")}, mode ${line(event.mode)}${event.parallel > 1 ? `, ${event.parallel} in parallel` : ""}`,
  ItemStarted: (event) => `started ${name(event.item_id)} (${event.index} of ${event.total})${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`,
  ItemMerging: (event) => `merging the changes of ${name(event.item_id)} into the project’s files`,
  ItemFinished: (event) => `${name(event.item_id)}: ${line(event.outcome)}${event.again ? ", retrying" : ""}${event.reason ? ` — ${line(event.reason, 200)}` : ""}, ${lasted(event.seconds)}${removedFiles(event)}`,
  BatchFinished: (event) => `execution ${ENDINGS[event.outcome] ?? line(event.outcome)}: ${event.completed} of ${event.total} completed, ${lasted(event.seconds)}`,
  ItemRolledBack: (event) => `rolled back ${[event.item_id, ...(event.with_later ?? [])].map(name).join(", ")} (${count(event.files.length, "file")}${removedFiles(event)})`,
  FilesReverted: (event) => `${event.cause === "redo" ? "redid" : "undid"} the changes in ${count(event.files.length, "file")}`,
  ModeChanged: (event) => `set the mode to ${line(event.mode)}`,
  EvidenceAsked: (event) => `asked for evidence: ${event.item_ids.map(name).join(", ")}`,
};

export function eventWords(event) {
  try {
    return Object.hasOwn(EVENTS, event.type) ? EVENTS[event.type](event) : line(event.type);
  } catch {
    return line(event.type); // of another version of the server
  }
}

const GROUPS = {
  items: ["TodoListUpdated", "LeaseRenewed", "TodoListItemProgress", "TodoListCompleted", "TodoEvaluationStarted", "TodoEvaluationCompleted", "ItemStarted", "ItemMerging", "ItemFinished", "ItemRolledBack", "FilesReverted", "EvidenceAsked", "CompletionLogged"],
  tools: ["ToolStarted", "ToolFinished", "ApprovalAsked", "ApprovalAnswered"],
  runs: ["RunStarted", "RoundStarted", "Usage", "RunError", "RunRequested", "RunPaused", "RunFinished", "BatchStarted", "ModeChanged", "BatchFinished", "MessageAdded", "ConversationCompacted", "TodoListContextInjected"],
  plan: ["PlanUpdated", "PlanModeChanged"],
};
export const GROUP = new Map(Object.entries(GROUPS).flatMap(([group, types]) => types.map((type) => [type, group])));

const MINOR = new Set(["MessageAdded", "RoundStarted", "Usage", "TodoListItemProgress", "TodoListContextInjected", "LeaseRenewed"]);

/** What happens all the time and says little by itself. */
export const isMinor = (event) => MINOR.has(event.type) && !(event.type === "MessageAdded" && event.text);

export function isTrouble(event) {
  if (event.type === "ToolFinished") return !event.ok || Boolean(event.exit_code) || event.denied;
  if (event.type === "ItemFinished") return event.outcome !== "completed";
  if (event.type === "RunFinished") return Boolean(event.error);
  return event.type === "RunError";
}
