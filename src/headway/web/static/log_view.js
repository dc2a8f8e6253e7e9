/** The log: events as they come, newest last; a part of those that are known is drawn, older ones on demand. */

import { arrange, h, longText, said, setText } from "./dom.js";
import { commandBlock, diffBlock } from "./diff.js";
import { attempt, problemPlace } from "./feedback.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { clock, inFull } from "./time.js";
import { showAll } from "./whole_event.js";
import { eventWords, GROUP, isMinor, isTrouble, whose } from "./words.js";

const DRAWN = 300;
const TRIMMED = 500;
const MORE = 900;
const HIDDEN = new Set(["type", "session_id", "agent_id", "version", "timestamp", "actor", "diff", "command", "text", "plan", "changes", "cut"]);

let list, frame, search, group, agent, older, found, problem, empty, down;
let era = -1;
let read = 0;
let room = DRAWN;
let sticks = true;
let session;
let matching = 0;

export function mountLog(element) {
  search = h("input", { type: "search", placeholder: "Filter the log", "aria-label": "Filter the log", autocomplete: "off" });
  group = h("select", { "aria-label": "Which events" }, ...[["main", "Main events"], ["all", "All events"], ["items", "Items"], ["tools", "Tools and questions"], ["runs", "Runs"], ["plan", "Plan"], ["trouble", "Problems"]].map(([value, text]) => h("option", { value }, text)));
  agent = h("select", { "aria-label": "Whose events" }, h("option", { value: "" }, "Everyone"), h("option", { value: "user" }, "You"));
  found = h("p", { class: "found", role: "status" });
  problem = problemPlace();
  older = h("button", { type: "button", class: "link older" }, "Show earlier events");
  empty = h("p", { class: "empty", hidden: true });
  list = h("ol", { class: "events", role: "list", "aria-label": "Events" });
  down = h("button", { type: "button", class: "to-end", hidden: true }, "Newest ↓");
  frame = h("div", { class: "events-frame", tabindex: "0", role: "region", "aria-label": "Log" }, older, problem, empty, list);
  element.append(h("div", { class: "filters", role: "search" }, search, group, agent, found), frame, down);
  for (const control of [search, group, agent]) control.addEventListener("input", () => redraw(DRAWN));
  older.addEventListener("click", () => showOlder());
  down.addEventListener("click", () => toEnd());
  let before = { top: 0, height: 0 };
  frame.addEventListener("scroll", () => {
    const { scrollTop: top, scrollHeight: height } = frame;
    if (height - top - frame.clientHeight < 40) stick(true);
    else if (top < before.top && height >= before.height) stick(false); // a person went up; else rows went away
    before = { top, height };
  }, { passive: true });
  list.addEventListener("click", (event) => event.target.closest("summary") && stick(false)); // it is read now
  new ResizeObserver(() => sticks && toEnd()).observe(list);
}

/** Whether the end is followed; else the browser keeps what is looked at in its place. */
function stick(isWanted) {
  sticks = isWanted;
  down.hidden = sticks;
  frame.style.setProperty("overflow-anchor", sticks ? "none" : "auto");
}

function isWanted(event) {
  const kind = group.value;
  if (kind === "main" ? isMinor(event) : kind === "trouble" ? !isTrouble(event) : kind !== "all" && GROUP.get(event.type) !== kind) return false;
  if (agent.value === "user" ? event.actor !== "user" : agent.value && event.agent_id !== agent.value) return false;
  const words = search.value.trim().toLowerCase();
  return !words || `${event.type} ${event.actor} ${event.agent_id} ${eventWords(event)} ${event.text ?? ""}`.toLowerCase().includes(words);
}

const rows = new WeakMap();

function row(event) {
  if (!rows.has(event)) rows.set(event, madeRow(event));
  return rows.get(event);
}

function madeRow(event) {
  const details = h("details", {}, h("summary", {},
    h("time", { datetime: event.timestamp, title: inFull(event.timestamp) }, clock(event.timestamp)),
    h("span", { class: "event-who said", dir: "auto" }, whose(event)),
    h("span", { class: "event-words said", dir: "auto" }, eventWords(event)),
  ));
  details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(body(event)));
  return h("li", { class: `event ${isTrouble(event) ? "is-trouble" : ""}`, data: { version: event.version } }, details);
}

/** What is not whole is shown as far as it is there; of the rest, all that is long is cut. */
function body(event, isWhole = false) {
  const rest = Object.entries(event).filter(([name, value]) => !HIDDEN.has(name) && value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  const facts = [["event", `${event.version} · ${event.type}`], ["by", `${event.actor}, agent ${event.agent_id}`], ...rest.map(([name, value]) => [name.replaceAll("_", " "), typeof value === "object" ? JSON.stringify(value) : String(value)])];
  const long = (text, given, tag) => longText(text, given, tag, isWhole || event.cut ? Infinity : undefined);
  const element = h("div", { class: "event-body", tabindex: "-1" },
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, long(value, {}, "span"))))),
    event.command ? commandBlock(event.command) : null,
    event.diff ? diffBlock(event.diff) : null,
    event.changes?.length ? h("ul", { class: "plain-list" }, event.changes.slice(0, 40).map((one) => h("li", {}, said(line([one.kind, one.id, one.content ?? "", one.status?.join(" → ") ?? one.fields?.join(", ") ?? ""].filter(Boolean).join(" "), 200))))) : null,
    event.plan ? long(JSON.stringify(event.plan, null, 2), { class: "output" }) : null,
    event.text ? long(event.text, { class: "output", tabindex: "0" }) : null,
    showAll(event, (whole) => {
      const all = body(whole, true);
      element.replaceWith(all);
      all.focus({ preventScroll: true });
    }),
  );
  return element;
}

/** All anew: another filter, another session, or older events came. */
function redraw(wanted) {
  room = wanted;
  era = store.log.era;
  read = store.log.events.length;
  const all = store.log.events.filter(isWanted);
  matching = all.length;
  arrange(list, all.slice(-room).map(row));
  agents();
  about();
}

const known = new Set();

function agents() {
  const names = new Set(store.log.events.map((event) => event.agent_id));
  for (const option of [...agent.options].slice(2)) if (!names.has(option.value) && option.value !== agent.value) {
    known.delete(option.value);
    option.remove();
  }
  for (const name of names) addAgent(name);
}

function addAgent(name) {
  if (known.has(name) || known.size > 200) return;
  known.add(name);
  agent.append(h("option", { value: name }, name === "main" ? "main agent" : line(name, 60)));
}

function about() {
  const drawn = list.childElementCount;
  older.hidden = drawn >= matching && store.log.first <= 1;
  empty.hidden = drawn > 0;
  const isFiltered = !["main", "all"].includes(group.value) || agent.value || search.value.trim();
  setText(empty, isFiltered ? "No loaded event matches." : "Nothing has happened yet.");
  const whole = store.session?.version ?? 0;
  setText(found, isFiltered ? `${matching.toLocaleString("en")} match in the last ${count(store.log.events.length, "event")}` : `${drawn.toLocaleString("en")} of ${count(whole, "event")}`);
}

function toEnd() {
  frame.scrollTop = frame.scrollHeight;
  stick(true);
}

/** Changes what is drawn; the row that is looked at stays in its place. */
function inPlace(change) {
  const { top } = frame.getBoundingClientRect();
  const first = [...list.children].find((one) => one.getBoundingClientRect().bottom > top);
  const before = first && { version: Number(first.dataset.version), top: first.getBoundingClientRect().top };
  frame.style.setProperty("overflow-anchor", "none");
  change();
  const same = before && !sticks && [...list.children].find((one) => Number(one.dataset.version) >= before.version);
  if (same) frame.scrollTop += same.getBoundingClientRect().top - before.top;
  stick(sticks);
}

/** More of those that are known, then of those that the server has. */
async function showOlder() {
  stick(false);
  if (list.childElementCount >= matching) await attempt(older, problem, () => store.loadOlder(MORE));
  inPlace(() => redraw(list.childElementCount + MORE));
}

export function updateLog(dirty) {
  if (!(dirty.events || dirty.whole || dirty.shown)) return;
  if (store.session?.name !== session) stick(true);
  session = store.session?.name;
  const fresh = store.log.events.length - read;
  if (era !== store.log.era || dirty.shown || fresh > DRAWN) {
    inPlace(() => redraw(sticks ? room : Math.max(room, list.childElementCount + Math.max(fresh, 0))));
  } else {
    const wanted = store.log.events.slice(read).filter(isWanted);
    for (const event of store.log.events.slice(read)) addAgent(event.agent_id);
    read = store.log.events.length;
    matching += wanted.length;
    list.append(...wanted.map(row));
    trim();
    about();
  }
  if (sticks) toEnd();
}

/** What is far above is taken away, unless someone reads there. */
function trim() {
  if (!sticks) return;
  let over = list.childElementCount - Math.max(room, DRAWN) - (TRIMMED - DRAWN);
  if (over <= 0) return;
  for (over += TRIMMED - DRAWN; over > 0; over -= 1) list.firstElementChild.remove();
}
