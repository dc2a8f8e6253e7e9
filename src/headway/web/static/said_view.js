/** What the agent said last in a run that answers a message: short, and all of it on demand. */

import { h, setAttribute, setText } from "./dom.js";
import { attempt, problemPlace } from "./feedback.js";
import { store } from "./store.js";
import { line, lines } from "./text.js";
import { at } from "./time.js";
import { isCut, wholeEvent } from "./whole_event.js";

const SHORT = 280;
const MOST_LINES = 6;
let place;
let shown = null;

export function saidPlace() {
  place = h("div", { class: "run-said try k-quiet", role: "group", "aria-label": "The agent’s last message", tabindex: "0", hidden: true });
  return place;
}

function lastSaid(run) {
  if (!run || run.batch) return null;
  const since = at(run.started_at);
  const last = store.log.events.findLast((event) => event.type === "MessageAdded" && event.agent_id === "main" && event.role === "assistant" && event.text);
  return last && at(last.timestamp) >= since ? last : null;
}

/** On a line or two; opened with all its lines, of which the server may have sent only the first. */
function words(event) {
  let { text } = event;
  let isThere = !isCut(event);
  const isShort = isThere && text.length <= SHORT && text.trim().split("\n").length <= MOST_LINES;
  const shown = document.createTextNode(isShort ? lines(text).trim() : line(text, SHORT));
  const problem = problemPlace();
  const more = h("button", { type: "button", class: "link", "aria-expanded": "false", on: { click: () => attempt(more, problem, toggle) } }, "Show all");
  more.hidden = isShort;
  const toggle = async () => {
    const isOpen = more.getAttribute("aria-expanded") === "true";
    if (!isThere) text = (await wholeEvent(event)).text;
    isThere = true;
    shown.data = isOpen ? line(text, SHORT) : lines(text);
    setText(more, isOpen ? "Show all" : "Show less");
    setAttribute(more, "aria-expanded", String(!isOpen));
    place.scrollTop = 0;
  };
  return [h("div", { class: "said lines", dir: "auto" }, shown, " ", more), problem];
}

export function updateSaid(run) {
  const event = lastSaid(run);
  const key = event && `${event.session_id}\n${event.version}`;
  if (key === shown) return;
  shown = key;
  place.hidden = !event;
  place.replaceChildren(...(event ? [h("p", {}, "Agent"), ...words(event)] : []));
}
