/** What depends on what, as a picture. */

import { Picture } from "./picture.js";
import { setAttribute } from "./dom.js";
import { route } from "./route.js";

let picture;

export function mountGraph(element) {
  picture = new Picture(element, "graph", { empty: "No item depends on another. To add a dependency, edit an item (“Depends on”).", drawn });
  picture.frame.addEventListener("keydown", onArrow);
}

export const updateGraph = (dirty) => picture.update(dirty);

const nodes = () => [...picture.frame.querySelectorAll(".node")];

/** One of them is reached with the Tab key. */
function makeStop(stop) {
  for (const node of nodes()) setAttribute(node, "tabindex", node === stop ? "0" : "-1");
}

function drawn(isNew) {
  const chosen = nodes().find((node) => node.dataset.id === route.item);
  makeStop(nodes().find((node) => node === document.activeElement) ?? chosen ?? nodes()[0]);
  if (isNew) chosen?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function position(node) {
  const { x, y } = node.querySelector(".box");
  return { x: x.baseVal.value, y: y.baseVal.value };
}

/** Arrows go to what an item depends on, to what depends on it, and to those above and below. */
function onArrow(event) {
  const [across, down] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? [0, 0];
  const node = event.target.closest(".node");
  if (!node || !(across || down)) return;
  event.preventDefault();
  const here = position(node);
  let best = null;
  for (const other of nodes()) {
    const there = position(other);
    const x = there.x - here.x;
    const y = there.y - here.y;
    if ((across && Math.sign(x) !== across) || (down && (Math.sign(y) !== down || x !== 0))) continue;
    const far = Math.abs(x) * 3 + Math.abs(y);
    if (!best || far < best.far) best = { far, other };
  }
  if (!best) return;
  makeStop(best.other);
  best.other.focus();
}
