/** What depends on what, as a picture: layers from left to right. Of a large list, the part that matters now. */

import { h, setAttribute, setText, svg } from "./dom.js";
import { criticalPath, isFinished, layers, neighbourhood } from "./graph_math.js";
import { go, route } from "./route.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { itemLasted } from "./time.js";
import { kindOf, markOf, statusOf } from "./words.js";

const MOST = 80;
const WIDTH = 190;
const HEIGHT = 50;
const COLUMN = WIDTH + 44;
const ROW = HEIGHT + 14;
const MARGIN = 6;

let picture, about, frame, empty;
let nodes = new Map();
let drawn = "";

export function mountGraph(element) {
  about = h("p", { class: "view-about" });
  empty = h("p", { class: "empty", hidden: true }, "No item depends on another. To add a dependency, edit an item (“Depends on”).");
  picture = svg("svg", { class: "picture", role: "group", "aria-label": "Dependencies" });
  frame = h("div", { class: "picture-frame" }, picture);
  element.append(about, empty, frame);
  picture.addEventListener("click", (event) => choose(event.target.closest(".node")));
  picture.addEventListener("keydown", onKey);
}

function choose(node) {
  if (node) go({ item: node.dataset.id });
}

/** Arrows go to what an item depends on, to what depends on it, and to those above and below. */
function onKey(event) {
  const node = event.target.closest(".node");
  if (!node) return;
  const here = nodes.get(node.dataset.id);
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return choose(node);
  }
  const [across, down] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? [0, 0];
  if (!across && !down) return;
  event.preventDefault();
  let best = null;
  for (const other of nodes.values()) {
    const x = other.x - here.x;
    const y = other.y - here.y;
    if ((across && Math.sign(x) !== across) || (down && (Math.sign(y) !== down || x !== 0))) continue;
    const far = Math.abs(x) * 3 + Math.abs(y);
    if (!best || far < best.far) best = { far, other };
  }
  if (!best) return;
  for (const one of nodes.values()) one.element.setAttribute("tabindex", "-1");
  best.other.element.setAttribute("tabindex", "0");
  best.other.element.focus();
}

function curve(x, y, toX, toY) {
  const half = Math.max((toX - x) / 2, 18);
  return `C${x + half} ${y} ${toX - half} ${toY} ${toX} ${toY}`;
}

/** A line from item to item, around those between them. */
function lineThrough(from, bends, to) {
  let x = from.x + WIDTH;
  let y = from.y + HEIGHT / 2;
  const way = [`M${x} ${y}`];
  for (const bend of bends) {
    way.push(curve(x, y, bend.x, bend.y + HEIGHT / 2), `H${bend.x + WIDTH}`);
    x = bend.x + WIDTH;
    y = bend.y + HEIGHT / 2;
  }
  way.push(curve(x, y, to.x - 5, to.y + HEIGHT / 2));
  return way.join("");
}

function node(id, place) {
  const mark = svg("text", { class: "node-mark", x: 12, y: 21 });
  const name = svg("foreignObject", { x: 33, y: 5, width: WIDTH - 41, height: 20 }, h("div", { class: "node-id" }, h("span", { class: "said", dir: "auto" }, line(id, 40)), h("span", { class: "node-time" })));
  const text = svg("foreignObject", { x: 11, y: 25, width: WIDTH - 19, height: 22 }, h("div", { class: "node-text said", dir: "auto" }));
  const element = svg("g", { class: "node", tabindex: "-1", role: "button", data: { id }, transform: `translate(${place.x} ${place.y})` },
    svg("rect", { class: "node-box", width: WIDTH, height: HEIGHT, rx: 3 }),
    svg("rect", { class: "node-edge", width: 4, height: HEIGHT, rx: 2 }),
    mark, name, text);
  return { element, mark, text: text.firstElementChild, time: name.querySelector(".node-time"), x: place.x, y: place.y };
}

function build(ids, items, critical) {
  const { places, ways } = layers(ids, items);
  const all = [...places.values(), ...ways.flatMap((way) => way.bends)];
  const top = Math.min(...all.map((place) => place.row));
  const at = (place) => ({ x: MARGIN + place.layer * COLUMN, y: MARGIN + (place.row - top) * ROW });
  const width = (Math.max(...all.map((place) => place.layer)) + 1) * COLUMN - (COLUMN - WIDTH) + 2 * MARGIN;
  const height = (Math.max(...all.map((place) => place.row)) - top + 1) * ROW - (ROW - HEIGHT) + 2 * MARGIN;
  setAttribute(picture, "viewBox", `0 0 ${width} ${height}`);
  setAttribute(picture, "width", width);
  setAttribute(picture, "height", height);
  const focused = document.activeElement?.closest?.(".node")?.dataset.id;
  nodes = new Map(ids.map((id) => [id, node(id, at(places.get(id)))]));
  const steps = new Set(critical.slice(1).map((id, index) => `${critical[index]}\n${id}`));
  const edges = [];
  for (const { from, to, bends } of ways) {
    const isCritical = steps.has(`${from}\n${to}`);
    const end = nodes.get(to);
    const kind = isCritical ? "critical" : "";
    const edge = [svg("path", { class: `edge ${kind}`, d: lineThrough(nodes.get(from), bends.map(at), end) }), svg("path", { class: `tip ${kind}`, d: `M${end.x} ${end.y + HEIGHT / 2}l-7 -4v8z` })];
    edges[isCritical ? "push" : "unshift"](...edge);
  }
  picture.replaceChildren(...edges, ...[...nodes.values()].map((one) => one.element));
  (nodes.get(focused) ?? nodes.get(route.item) ?? nodes.values().next().value)?.element.setAttribute("tabindex", "0");
  nodes.get(focused)?.element.focus({ preventScroll: true });
}

function paint(id, items, critical) {
  const one = nodes.get(id);
  const todo = items.get(id);
  if (!one || !todo) return;
  setAttribute(one.element, "class", `node k-${kindOf(todo)} ${critical.has(id) ? "critical" : ""} ${id === route.item ? "is-chosen" : ""}`);
  setText(one.mark, markOf(todo));
  setText(one.text, line(todo.content, 120));
  setText(one.time, todo.completed_at ? itemLasted(todo) : "");
  const needs = todo.depends_on.length ? `, depends on ${todo.depends_on.map((other) => line(other, 40)).join(", ")}` : "";
  setAttribute(one.element, "aria-label", `${line(id, 40)}: ${line(todo.content, 160)}. ${statusOf(todo)}${needs}`);
}

export function updateGraph(dirty) {
  const session = store.session;
  if (!session || !(dirty.whole || dirty.order || dirty.items.size || dirty.route || dirty.shown)) return;
  const items = session.items;
  const critical = criticalPath(items);
  const some = neighbourhood(items, critical, route.item, MOST);
  frame.hidden = !some.ids.length;
  empty.hidden = Boolean(some.ids.length);
  about.hidden = !some.ids.length;
  if (!some.ids.length) return;
  const signature = JSON.stringify([session.name, some.ids.map((id) => [id, items.get(id).depends_on]), critical]);
  if (signature !== drawn) {
    drawn = signature;
    build(some.ids, items, critical);
  }
  const isOpen = [...items.values()].some((todo) => !isFinished(todo));
  const path = new Set(critical.length > 1 ? critical : []);
  for (const id of some.ids) paint(id, items, path);
  if (dirty.route || dirty.shown) nodes.get(route.item)?.element.scrollIntoView({ block: "nearest", inline: "nearest" });
  const left = some.left ? ` Showing ${some.ids.length} of ${some.ids.length + some.left} linked items: those in progress${route.item ? ", the selected one" : ""} and the longest chain, with their neighbours.` : "";
  const alone = some.alone ? ` ${count(some.alone, "item")} without dependencies ${some.alone === 1 ? "is" : "are"} not shown.` : "";
  setText(about, `${path.size > 1 ? `The longest ${isOpen ? "unfinished chain" : "chain"} has ${count(path.size, "item")}, shown in bold.` : `${count(some.ids.length, "item")}.`}${left}${alone}`);
}
