/** The timeline: a lane for each who worked, a bar for each item they worked on, a mark for what a person changed. */

import { arrange, h, setAttribute, setText } from "./dom.js";
import { go, route } from "./route.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { Axis, endOf, inHeaps, inLanes, readTimeline } from "./timeline_math.js";
import { clock, lasted } from "./time.js";
import { eventWords, who } from "./words.js";

const MARKS = { done: "✓", reported: "✓?", blocked: "✗", conflict: "⇄", running: "●", quiet: "○" };
const MOST = 150;
const LEAST = 24;
const APART = 38;

let about, chart, axisRow, lanesBox, empty, zoom;
let wider = 1;
let bars = new Map();
let laneRows = new Map();
let last = 0;
let timer = 0;

export function mountTimeline(element) {
  about = h("p", { class: "view-about" });
  empty = h("p", { class: "empty", hidden: true }, "No work yet. This view shows who works on what, as it happens.");
  axisRow = h("div", { class: "axis", "aria-hidden": "true" });
  lanesBox = h("div", { class: "lanes", role: "list", "aria-label": "Who worked on what" });
  chart = h("div", { class: "timeline" }, axisRow, lanesBox);
  const zoomed = (factor) => {
    wider = Math.min(Math.max(wider * factor, 1), 16);
    chart.style.setProperty("--wider", wider);
    draw();
  };
  zoom = h("div", { class: "zoom" }, h("button", { type: "button", "aria-label": "Narrower", on: { click: () => zoomed(0.5) } }, "−"), h("button", { type: "button", "aria-label": "Wider", on: { click: () => zoomed(2) } }, "+"));
  element.append(h("div", { class: "view-head" }, about, zoom), empty, h("div", { class: "timeline-frame" }, chart));
  lanesBox.addEventListener("click", (event) => {
    const bar = event.target.closest("[data-id]");
    if (bar) go({ item: bar.dataset.id });
  });
}

const NAMES = new Map([["executor", "Executor"], ["user", "You"], ["earlier", "Earlier"]]);

function bar(one, axis, now) {
  const key = `${one.who}\n${one.item}\n${one.from}`;
  const known = bars.get(key);
  const element = known ?? h("button", { type: "button", class: "stretch", data: { id: one.item } }, h("span", { class: "stretch-mark", "aria-hidden": "true" }), h("span", { class: "said", dir: "auto" }));
  const to = one.to ?? now;
  const content = store.session.items.get(one.item)?.content ?? "";
  const took = lasted((to - one.from) / 1000);
  const words = `${line(one.item, 60)}: ${line(content, 120)} — ${clock(one.from)}${one.to === null ? `, since ${took}` : ` to ${clock(to)}, ${took}`}${one.level ? `, ${line(one.level, 40).replace("_", " ")}` : ""}`;
  setAttribute(element, "class", `stretch k-${one.kind} ${one.item === route.item ? "is-chosen" : ""}`);
  setText(element.firstElementChild, MARKS[one.kind]);
  setText(element.lastElementChild, line(`${one.item} ${content}`, 80));
  setAttribute(element, "title", words);
  setAttribute(element, "aria-label", words);
  place(element, axis.at(one.from), Math.max(axis.at(to) - axis.at(one.from), 0));
  return [key, element];
}

/** Where it is, in parts of the width; set only if it is elsewhere. */
function place(element, left, width) {
  const [from, size] = [left, width].map((part) => `${(part * 100).toFixed(2)}%`);
  if (element.style.left !== from) element.style.setProperty("left", from);
  if (element.style.width !== size) element.style.setProperty("width", size);
}

function dot({ place: left, moments }) {
  const some = moments.slice(-8).map((one) => `${clock(one.at)} — ${eventWords(one.event)}`);
  const words = (moments.length > 8 ? `${moments.length} changes, the latest:\n` : "") + some.join("\n");
  const element = h("span", { class: "dot", title: words, role: "img", "aria-label": words }, moments.length > 1 ? moments.length : null);
  element.style.setProperty("left", `${left * 100}%`);
  return element;
}

function draw() {
  const session = store.session;
  if (!session) return;
  last = performance.now();
  const now = Date.now();
  const read = readTimeline(store.log.events, session.items, now);
  const stretches = read.stretches.slice(-MOST);
  const moments = read.moments.slice(-MOST);
  empty.hidden = stretches.length + moments.length > 0;
  chart.parentElement.hidden = zoom.hidden = about.hidden = !empty.hidden;
  if (!empty.hidden) return;
  const end = endOf(Math.min(...stretches.map((one) => one.from)), now);
  const part = 1 / Math.max(axisRow.firstElementChild?.clientWidth ?? 0, 400);
  const axis = new Axis([...stretches.map((one) => [one.from, one.to ?? end]), ...moments.map((one) => [one.at, one.at])], LEAST * part);
  drawAxis(axis);
  const lanes = inLanes(stretches, now);
  if (moments.length) lanes.set("user", [...(lanes.get("user") ?? []), { stretches: [], heaps: inHeaps(moments, axis, APART * part) }]);
  const order = [...lanes.keys()].sort((one, other) => (one === "user") - (other === "user") || (one < other ? -1 : 1));
  const fresh = new Map();
  const rows = new Map();
  for (const name of order) {
    lanes.get(name).forEach((lane, index) => {
      const id = `${name}\n${index}\n${lane.heaps ? "changes" : ""}`;
      const row = laneRows.get(id) ?? laneRow(NAMES.get(name) ?? who(name), index, Boolean(lane.heaps));
      rows.set(id, row);
      const made = lane.stretches.map((one) => bar(one, axis, now));
      for (const [key, element] of made) fresh.set(key, element);
      if (lane.heaps) row.track.replaceChildren(...lane.heaps.map(dot));
      else arrange(row.track, made.map(([, element]) => element));
    });
  }
  bars = fresh;
  laneRows = rows;
  arrange(lanesBox, [...rows.values()].map((row) => row.element));
  const older = store.log.first > 1 ? ` For work before event ${store.log.first.toLocaleString("en")}, only the times of the items are known.` : "";
  const idle = axis.idle.length ? " Idle periods are shortened." : "";
  const left = read.stretches.length > MOST ? ` Showing only the last ${MOST} of ${read.stretches.length} work periods.` : "";
  setText(about, `${count(stretches.length, "work period")}, ${count(moments.length, "change")} by you.${idle}${left}${older}`);
}

function laneRow(name, index, hasChanges) {
  const track = h("div", { class: "track" });
  const label = h("div", { class: "lane-name said", dir: "auto" }, index ? "" : name);
  return { element: h("div", { class: "lane", role: "listitem", "aria-label": hasChanges ? `${name}: changes` : `${name}${index ? ` ${index + 1}` : ""}` }, label, track), track };
}

function drawAxis(axis) {
  const marks = axis.ticks(8 * wider).map(({ time, place }) => {
    const element = h("span", { class: "tick-mark" }, clock(time));
    element.style.setProperty("left", `${place * 100}%`);
    return element;
  });
  const gaps = axis.idle.map(({ from, to, seconds }) => {
    const element = h("span", { class: "idle", title: `Idle for ${lasted(seconds)}` });
    element.style.setProperty("left", `${from * 100}%`);
    element.style.setProperty("width", `${(to - from) * 100}%`);
    return element;
  });
  axisRow.replaceChildren(h("div", { class: "axis-track" }, ...gaps, ...marks));
}

/** At most twice a second: it is drawn from the whole log. */
export function updateTimeline(dirty) {
  if (!(dirty.whole || dirty.events || dirty.items.size || dirty.order || dirty.route || dirty.shown)) return;
  clearTimeout(timer);
  const wait = dirty.whole || dirty.shown || dirty.route ? 0 : Math.max(0, last + 500 - performance.now());
  if (wait) timer = setTimeout(draw, wait);
  else draw();
  if (dirty.whole || dirty.shown) chart.parentElement.scrollLeft = chart.scrollWidth; // the newest, where not all fits
}

/** Bars of what goes on become longer. */
export function tickTimeline() {
  if ([...(store.session?.items.values() ?? [])].some((todo) => todo.status === "in_progress")) draw();
}
