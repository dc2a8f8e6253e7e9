/** One item, beside the list: all of it, what can be done with it, and what was done on it. */

import { Problem } from "./api.js";
import { EditForm } from "./edit_form.js";
import { focusOr, h, keepFocus, longText, said, setAttribute, setText } from "./dom.js";
import { clearProblem, problemPlace, showProblem } from "./feedback.js";
import { dependents, isFinished, isReady } from "./dependencies.js";
import { History } from "./history_view.js";
import { changeStatus, dropItem, executeItem, rollBackItem, setStatus } from "./item_actions.js";
import { go, route } from "./route.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { inFull, itemLasted, lasted, moment } from "./time.js";
import { kindOf, markOf, statusOf } from "./words.js";

const drafts = new Map();
const parts = {};
const NARROW = matchMedia("(max-width: 60rem)");
let panel, leave;
let shown = null;
let isGone = false;

const act = (name, title, run) => h("button", { type: "button", title, on: { click: (event) => run(shown.id, event.currentTarget) } }, name);

export function mountDetail(element, { closed }) {
  panel = element;
  leave = closed;
  parts.close = h("button", { type: "button", class: "plain close", title: "Close (Esc)", "aria-label": "Close the item" }, "✕");
  parts.id = h("p", { class: "eyebrow said", dir: "auto" });
  parts.title = h("h2", { tabindex: "-1", class: "detail-title" });
  parts.mark = h("span", { class: "mark", "aria-hidden": "true" });
  parts.statusName = h("span");
  parts.status = h("button", { type: "button", class: "status", "aria-haspopup": "menu", title: "Change the status" }, parts.mark, parts.statusName);
  parts.problem = problemPlace();
  parts.edit = act("Edit", "Edit (e)", () => editItem());
  parts.run = act("Execute…", "Have the agent work on this item", (id) => executeItem(id));
  parts.cancel = act("Cancel item", "Set the status to cancelled", (id, button) => setStatus(id, "cancelled", button, parts.problem));
  parts.back = act("Roll back…", "Undo the changes this item made to files", (id) => rollBackItem(id));
  parts.drop = act("Drop", "Remove the item from the list (Delete)", (id, button) => dropItem(id, button, parts.problem));
  parts.facts = h("dl", { class: "facts" });
  parts.form = h("div");
  addEventListener("beforeunload", (event) => [...drafts.values()].some((form) => form.isTouched) && event.preventDefault());
  NARROW.addEventListener("change", () => setOpen(!panel.hidden));
  parts.close.addEventListener("click", () => closeItem());
  parts.status.addEventListener("click", () => changeStatus(shown.id, parts.status, parts.problem));
  parts.history = h("div");
  parts.read = h("div", { class: "read" }, parts.facts, parts.history);
  panel.append(
    h("div", { class: "detail-head" }, parts.id, parts.close),
    parts.title,
    h("div", { class: "acts" }, parts.status, parts.edit, parts.run, parts.cancel, parts.back, parts.drop),
    parts.problem,
    parts.form,
    parts.read,
  );
}

export function closeItem() {
  const id = shown?.id;
  go({ item: null });
  leave(id);
}

/** Puts the focus there, also where it was not asked for if it lies over everything else. */
export function focusDetail(isWanted) {
  if (isWanted || NARROW.matches) parts.title.focus();
}

/** Opens the form for the item that is shown. */
export function editItem() {
  if (!shown) return;
  const key = keyOf(shown.id);
  if (!drafts.has(key)) drafts.set(key, new EditForm(shown.todo, () => endEditing(key)));
  showForm();
  drafts.get(key).focus();
}

const keyOf = (id) => `${store.session?.name}\n${id}`;

function endEditing(key) {
  drafts.delete(key);
  if (isGone && keyOf(shown?.id) === key) return closeItem();
  return keepFocus(parts.form, showForm, () => focusOr(parts.edit));
}

function showForm() {
  const form = shown && drafts.get(keyOf(shown.id));
  if (form) {
    form.update(shown.todo);
    if (parts.form.firstElementChild !== form.element) parts.form.replaceChildren(form.element);
  } else parts.form.replaceChildren();
  parts.edit.hidden = Boolean(form);
  parts.facts.hidden = Boolean(form);
}

function links(ids) {
  return h("span", { class: "ids" }, ids.map((id) => {
    const todo = store.session.items.get(id);
    const text = h("span", {}, todo ? `${markOf(todo)} ` : "", said(line(id, 60), "bdi"));
    if (!todo) return h("span", { class: "missing" }, text, " (not in the list)");
    return h("button", { type: "button", class: `link k-${kindOf(todo)}`, title: line(todo.content, 200), on: { click: () => go({ item: id }) } }, text);
  }));
}

const LEVELS = {
  verified: " — its declared check passed",
  command_ok: " — a command that could have failed succeeded after the last edit",
  reported: " — the agent or a person said so",
  inferred: " — based on the agent’s calls",
};

function evidence(found) {
  if (!found) return null;
  const level = line(found.level, 40);
  const ended = [found.exit_code === null ? "" : `exit code ${found.exit_code}`, found.seconds === null ? "" : lasted(found.seconds)].filter(Boolean).join(", ");
  return h("div", {},
    h("p", {}, `${level === "verified" ? "✓" : "✓?"} ${level.replace("_", " ")}`, h("span", { class: "soft" }, LEVELS[level] ?? "")),
    found.note ? h("p", {}, said(line(found.note, 500))) : null,
    found.command ? h("pre", { class: "command", dir: "ltr" }, line(found.command, 2000), ended ? h("span", { class: "soft" }, `  → ${ended}`) : "") : null,
    found.output ? longText(found.output, { class: "output", tabindex: "0" }) : null,
    found.files.length ? h("p", { class: "fact" }, found.files.slice(0, 20).map((file) => said(file, "code")), found.files.length > 20 ? ` and ${found.files.length - 20} more` : "") : null,
  );
}

const time = (iso) => (iso ? h("time", { datetime: iso, title: inFull(iso) }, moment(iso)) : null);

function facts(todo) {
  const needed = dependents(store.session.items).get(todo.id) ?? [];
  const calls = todo.tool_calls ? `${todo.tool_calls}${todo.failed_calls ? `, ${todo.failed_calls} failed` : ""}` : null;
  const round = (number) => (number === null ? "" : h("span", { class: "soft" }, ` round ${number}`));
  return [
    ["Evidence", evidence(todo.evidence)],
    ["Check", todo.verify && h("pre", { class: "command", dir: "ltr" }, line(todo.verify, 2000))],
    ["Priority", todo.priority],
    ["Owner", todo.owner && h("span", {}, said(todo.owner), todo.lease_until ? h("span", { class: "soft" }, ` until ${moment(todo.lease_until)}`) : "")],
    ["Depends on", todo.depends_on.length ? links(todo.depends_on) : null],
    ["Needed by", needed.length ? links(needed) : null],
    ["Module", todo.module && longText(todo.module, {}, "span")],
    ["Estimated time", todo.estimated_time && longText(todo.estimated_time, {}, "span")],
    ["Took", itemLasted(todo) && h("span", { class: "took" }, itemLasted(todo))],
    ["Started", todo.started_at && todo.status !== "pending" && h("span", {}, time(todo.started_at), round(todo.started_at_round))],
    ["Finished", todo.completed_at && h("span", {}, time(todo.completed_at), round(todo.completed_at_round))],
    ["Tool calls", calls],
    ["Notes", todo.notes && longText(todo.notes)],
    ["Risks", todo.risks.length ? h("ul", {}, todo.risks.map((risk) => said(risk, "li"))) : null],
    ["Added", todo.created_at && h("span", {}, time(todo.created_at), todo.created_from === "plan" ? " from the plan" : "")],
  ].filter(([, value]) => value);
}

/** Only the facts that are different are put in anew: what is selected or opened in others stays. */
function drawFacts(todo) {
  const wanted = facts(todo).map(([name, value]) => ({ name, element: h("div", { data: { name } }, h("dt", {}, name), h("dd", {}, value)) }));
  const old = new Map([...parts.facts.children].map((child) => [child.dataset.name, child]));
  const signature = (element) => element.textContent;
  const focused = parts.facts.contains(document.activeElement) ? document.activeElement : null;
  const place = focused && { name: focused.closest("[data-name]").dataset.name, at: buttonsOf(focused.closest("[data-name]")).indexOf(focused) };
  parts.facts.append(...wanted.map(({ name, element }) => {
    element.dataset.made = signature(element);
    const before = old.get(name);
    return before && before.dataset.made === element.dataset.made ? null : element;
  }).filter(Boolean));
  const final = wanted.map(({ name, element }) => (element.isConnected ? element : old.get(name)));
  const keep = new Set(final);
  for (const child of [...parts.facts.children]) if (!keep.has(child)) child.remove();
  final.forEach((child, index) => parts.facts.children[index] !== child && parts.facts.insertBefore(child, parts.facts.children[index]));
  if (focused && focused !== document.activeElement) buttonsOf(final.find((child) => child.dataset.name === place.name))[place.at]?.focus();
}

const buttonsOf = (element) => [...(element?.querySelectorAll("button") ?? [])];

/** Whether the item that is gone is one that a person was editing. */
function isTypedIn(session) {
  if (!session || !shown || shown.session !== session.name || shown.id !== route.item) return false;
  return Boolean(drafts.get(keyOf(shown.id))?.isTouched);
}

/** Where it lies over everything else, nothing else can be reached. */
function setOpen(isOpen) {
  document.getElementById("main").inert = isOpen && NARROW.matches;
  if (panel.hidden === !isOpen) return;
  const had = panel.contains(document.activeElement);
  panel.hidden = !isOpen;
  document.getElementById("app").classList.toggle("has-detail", isOpen);
  if (had && !isOpen) leave(shown?.id);
}

export function updateDetail(dirty) {
  keepFocus(panel, () => show(dirty), () => focusOr(parts.title));
}

/** Whether the item is gone while a person was typing: then that stays, and is said once. */
function setGone(now) {
  if (now === isGone) return;
  isGone = now;
  if (now) showProblem(parts.problem, new Problem("This item is no longer in the list. What you typed is still here; undo (u) restores the item."));
  else clearProblem(parts.problem);
}

function show(dirty) {
  const session = store.session;
  const todo = route.item === null ? null : session?.items.get(route.item);
  setGone(!todo && isTypedIn(session));
  if (isGone) return;
  setOpen(Boolean(todo));
  if (!todo) {
    shown = null;
    if (session && route.item !== null && (dirty.order || dirty.whole)) go({ item: null }, { replace: true });
    return;
  }
  const isOther = shown?.id !== todo.id || shown.session !== session.name;
  const related = new Set([todo.id, ...todo.depends_on]);
  const touched = isOther || dirty.whole || dirty.order || [...dirty.items].some((id) => related.has(id) || session.items.get(id)?.depends_on.includes(todo.id));
  if (isOther) {
    parts.historyOf = new History();
    parts.history.replaceChildren(parts.historyOf.element);
    parts.facts.replaceChildren();
    clearProblem(parts.problem);
    panel.scrollTop = 0;
  }
  const before = shown?.todo;
  shown = { id: todo.id, session: session.name, todo };
  if (touched) draw(todo, isOther || before?.content !== todo.content);
  if (touched || dirty.run || dirty.events) keepFocus(panel, () => buttons(todo), () => parts.status.focus());
  if (touched || dirty.events) parts.historyOf.update(todo);
  showForm();
}

function draw(todo, isNewText) {
  setText(parts.id, line(todo.id, 200));
  if (isNewText) parts.title.replaceChildren(longText(todo.content, {}, "span", 280));
  setText(parts.mark, markOf(todo));
  setText(parts.statusName, statusOf(todo));
  setAttribute(parts.status, "class", `status k-${kindOf(todo)}`);
  drawFacts(todo);
}

/** Whether it was executed and not rolled back since; of what is not known, whether that may be so. */
function mayRollBack(todo) {
  const known = parts.historyOf.whole ?? store.calls;
  const last = known.past.get(todo.id)?.at(-1);
  if (last) return last.began.type === "ItemStarted";
  return known.from > 1 && known.from < Infinity && Boolean(todo.started_at) && (todo.status !== "pending" || todo.interrupted);
}

function buttons(todo) {
  const isOn = Boolean(store.session.run?.goes_on);
  parts.run.hidden = isOn || !(isReady(todo, store.session.items) || todo.status === "blocked");
  parts.cancel.hidden = isFinished(todo);
  parts.back.hidden = isOn || !mayRollBack(todo);
}

export function tickDetail(now) {
  const took = shown?.todo.status === "in_progress" && parts.facts.querySelector(".took");
  if (took) setText(took, itemLasted(shown.todo, now));
}
