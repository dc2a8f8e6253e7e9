/** The list: rows by id, of which only those that are different are touched; keys to go through it. */

import { arrange, focusOr, h, keepFocus, setAttribute, setText } from "./dom.js";
import { announce } from "./feedback.js";
import { dependents, isFinished } from "./dependencies.js";
import { ItemRow } from "./item_row.js";
import { focusAdding, mountAdding } from "./add_form.js";
import { changeStatus, clearList, dropItem, moveItem, stepItem } from "./item_actions.js";
import { mountDragging } from "./dragging.js";
import { go, route } from "./route.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { STATUS_NAMES } from "./words.js";

const rows = new Map();
let list, empty, search, which, found, clearing;
let after = new Map();
let current = null;
let followed = null;

export function mountList(element, { openItem, editItem }) {
  search = h("input", { type: "search", placeholder: "Find in the list", "aria-label": "Find in the list", autocomplete: "off" });
  which = h("select", { "aria-label": "Which items" }, ...[["all", "All items"], ["open", "Open"], ["in_progress", "In progress"], ["blocked", "Blocked"], ["finished", "Finished"]].map(([value, text]) => h("option", { value }, text)));
  found = h("p", { class: "found", role: "status" });
  clearing = h("p", { class: "view-about" }, h("button", { type: "button", class: "link", title: "Remove all items; undo restores them", on: { click: askToClear } }, "Clear the list…"));
  list = h("ol", { class: "stops", role: "list", "aria-label": "Items" });
  empty = h("p", { class: "empty", hidden: true });
  element.append(h("div", { class: "filters", role: "search" }, search, which, found), empty, list, clearing);
  mountAdding(element, { left: () => focusRow() || focusOr() });
  search.addEventListener("input", () => keepPlace(filter));
  search.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || event.isComposing || !focusRow()) return;
    event.preventDefault();
  });
  which.addEventListener("change", () => keepPlace(filter));
  list.addEventListener("click", (event) => onClick(event, openItem));
  list.addEventListener("keydown", (event) => onKey(event, { openItem, editItem }));
  list.addEventListener("focusin", (event) => setCurrent(event.target.closest("li")?.dataset.id));
  mountDragging(list, (id, position) => moveItem(id, position));
}

function askToClear() {
  clearList().dialog.addEventListener("close", () => store.session?.items.size === 0 && focusAdding());
}

export function focusSearch() {
  search.focus();
}

/** Where keys go next. */
function setCurrent(id) {
  if (!id || id === current) return;
  const before = rows.get(current);
  if (before) before.main.tabIndex = -1;
  current = id;
  followed = null;
  rows.get(id).main.tabIndex = 0;
}

const isShown = (id) => rows.has(id) && rows.get(id).element.isConnected && !rows.get(id).element.hidden;

/** Makes a change of the rows; if the one where keys go is gone or hidden then, they go to the nearest. */
function keepPlace(change) {
  const ids = [...list.children].map((element) => element.dataset.id);
  const place = ids.indexOf(current);
  const had = list.contains(document.activeElement);
  change();
  if (isShown(current)) return;
  const next = [...ids.slice(place + 1), ...ids.slice(0, Math.max(place, 0)).reverse(), ...store.session.items.keys()].find(isShown);
  if (!rows.has(current)) current = null;
  setCurrent(next);
  if (!had) return;
  if (next) rows.get(next).main.focus();
  else if (store.session.items.size) search.focus();
  else focusAdding();
}

/** Focuses the row of an item; false if it cannot be seen. */
export function focusRow(id) {
  const row = rows.get(id) ?? rows.get(current);
  if (!row || !isShown(row.id)) return false;
  row.main.focus();
  return document.activeElement === row.main;
}

function onClick(event, openItem) {
  const id = event.target.closest("li")?.dataset.id;
  if (!id) return;
  if (event.target.closest(".mark")) changeStatus(id, event.target.closest(".mark"));
  else if (event.target.closest(".open")) openItem(id, false);
}

function neighbour(element, step) {
  let next = element;
  do next = step > 0 ? next.nextElementSibling : next.previousElementSibling;
  while (next?.hidden);
  return next;
}

function onKey(event, { openItem, editItem }) {
  const row = rows.get(event.target.closest("li")?.dataset.id);
  if (!row || event.ctrlKey || event.metaKey) return;
  if (event.altKey) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    stepItem(row.id, step, isShown);
    followed = row.id;
    return;
  }
  const keys = {
    ArrowDown: () => reach(neighbour(row.element, 1)),
    ArrowUp: () => reach(neighbour(row.element, -1)),
    Home: () => reach([...list.children].find((one) => !one.hidden)),
    End: () => reach([...list.children].findLast((one) => !one.hidden)),
    Enter: () => (event.target === row.mark ? changeStatus(row.id, row.mark) : openItem(row.id, true)),
    " ": () => changeStatus(row.id, row.mark),
    e: () => editItem(row.id),
    Delete: () => dropItem(row.id),
  };
  const act = keys[event.key];
  if (!act || event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

function reach(element) {
  if (!element) return;
  rows.get(element.dataset.id).main.focus();
  if (route.item) go({ item: element.dataset.id }, { replace: true }); // what is open follows
}

function isWanted(todo) {
  const kind = which.value;
  if (kind === "open" && isFinished(todo)) return false;
  if (kind === "finished" && !isFinished(todo)) return false;
  if ((kind === "blocked" || kind === "in_progress") && todo.status !== kind) return false;
  const words = search.value.trim().toLowerCase();
  return !words || [todo.id, todo.content, todo.module, todo.owner, todo.notes].some((text) => text?.toLowerCase().includes(words));
}

const MOST_NAMED = 5;

/** In which other sessions items are open. */
function openElsewhere() {
  const others = (store.sessions ?? []).filter((one) => one.name !== store.session.name && one.total > one.completed);
  if (!others.length) return "";
  const names = others.slice(0, MOST_NAMED).map((one) => `${line(one.name, 60)} (${one.total - one.completed})`);
  const more = others.length > names.length ? ` and ${others.length - names.length} more` : "";
  return ` Other sessions have open items: ${names.join(", ")}${more}.`;
}

function filter() {
  let shown = 0;
  for (const [id, todo] of store.session.items) {
    if (!rows.has(id)) continue; // it is drawn with the next frame
    const wanted = isWanted(todo);
    rows.get(id).element.hidden = !wanted;
    shown += wanted;
  }
  const all = store.session.items.size;
  setText(found, shown === all ? "" : `${shown} of ${count(all, "item")}`);
  empty.hidden = shown > 0;
  setText(empty, all ? "No item matches." : `The list is empty. Add the first item below, or turn a plan into items in the Plan view.${openElsewhere()}`);
  keepFocus(clearing, () => (clearing.hidden = shown === 0), () => (all ? search.focus() : focusAdding()));
}

export function updateList(dirty) {
  const session = store.session;
  if (!session) return;
  const items = session.items;
  const isNew = dirty.whole || dirty.order;
  const executing = session.run?.goes_on ? (session.run.batch?.executing ?? {}) : {};
  const before = after;
  if (isNew || dirty.items.size) after = dependents(items);
  const touched = dirty.whole ? new Set(items.keys()) : new Set([...dirty.items].filter((id) => items.has(id)));
  if (!dirty.whole) for (const id of dirty.items) for (const other of [...(after.get(id) ?? []), ...(before.get(id) ?? [])]) touched.add(other);
  if (dirty.run) for (const [id, row] of rows) if (row.element.classList.contains("is-executing") !== Object.hasOwn(executing, id)) touched.add(id);
  if (session.name !== shownName) reset(session.name);
  else if (!dirty.whole) tellStatuses([...dirty.items].filter((id) => rows.has(id) && items.has(id) && rows.get(id).todo.status !== items.get(id).status));
  for (const id of touched) {
    if (!items.has(id)) continue;
    if (!rows.has(id)) rows.set(id, new ItemRow(id));
    rows.get(id).update(items.get(id), items, Object.hasOwn(executing, id));
  }
  if (isNew || touched.size) keepPlace(() => {
    if (isNew) reorder(items);
    filter();
  });
  else if (dirty.sessions && !items.size) filter();
  if (isNew || dirty.route) for (const [id, row] of rows) setChosen(row, id === route.item);
}

let shownName = null;

/** Another session is looked at, from its beginning. */
function reset(name) {
  shownName = name;
  search.value = "";
  which.value = "all";
  list.closest(".main").scrollTop = 0;
}

/** What became of items, whoever did it; of many only how many. */
function tellStatuses(ids) {
  const name = (id) => `${line(id, 60)}: ${STATUS_NAMES[store.session.items.get(id).status].toLowerCase()}.`;
  if (ids.length > 3) announce(`${count(ids.length, "item")} changed status.`);
  else for (const id of ids) announce(name(id));
}

function setChosen(row, isChosen) {
  if (row.element.classList.contains("is-chosen") === isChosen) return;
  row.element.classList.toggle("is-chosen", isChosen);
  setAttribute(row.main, "aria-current", isChosen ? "true" : null);
  if (isChosen && isShown(row.id)) setCurrent(row.id);
}

function reorder(items) {
  for (const id of [...rows.keys()]) if (!items.has(id)) rows.delete(id);
  arrange(list, [...items.keys()].map((id) => rows.get(id).element));
  if (followed && document.activeElement === rows.get(followed)?.main) rows.get(followed).main.scrollIntoView({ block: "nearest" });
}

export function tickList(now) {
  for (const [id, todo] of store.session?.items ?? []) if (todo.status === "in_progress") rows.get(id)?.tick(now);
}
