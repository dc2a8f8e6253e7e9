/** Who worked on what when, as a picture: as wide as a person wants it. */

import { h, setText } from "./dom.js";
import { Picture } from "./picture.js";
import { route } from "./route.js";
import { store } from "./store.js";
import { count } from "./text.js";
import { clock } from "./time.js";
import { eventWords, isPerson } from "./words.js";

const LEAST = 544;
const MOST_WORDS = 8;

let picture;
let wider = 1;

export function mountTimeline(element) {
  const zoom = (factor) => {
    wider = Math.min(Math.max(wider * factor, 1), 16);
    picture.want(true);
  };
  const tools = h("div", { class: "zoom" }, h("button", { type: "button", "aria-label": "Narrower", on: { click: () => zoom(0.5) } }, "−"), h("button", { type: "button", "aria-label": "Wider", on: { click: () => zoom(2) } }, "+"));
  picture = new Picture(element, "timeline", { empty: "No work yet. This view shows who works on what, as it happens.", tools: [tools], query, drawn });
  picture.frame.addEventListener("scroll", () => picture.frame.style.setProperty("--scrolled", `${picture.frame.scrollLeft}px`), { passive: true });
  addEventListener("resize", () => route.view === "timeline" && picture.want(false));
}

export const updateTimeline = (dirty) => picture.update(dirty);

/** Bars of what goes on become longer. */
export function tickTimeline() {
  if ([...(store.session?.items.values() ?? [])].some((todo) => todo.status === "in_progress")) picture.want(false);
}

function query() {
  const names = innerWidth <= 640 ? 80 : 112;
  return { width: Math.round(names + Math.max(picture.place.clientWidth - names, LEAST) * wider), names, zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}

function drawn(isNew) {
  const changes = new Map(store.log.events.filter((event) => isPerson(event.actor)).map((event) => [event.version, event]));
  for (const dot of picture.frame.querySelectorAll(".dot")) {
    const versions = dot.dataset.moments.split(" ").map(Number);
    const events = versions.slice(-MOST_WORDS).map((version) => changes.get(version));
    const words = events.filter(Boolean).map((event) => `${clock(event.timestamp)} — ${eventWords(event)}`);
    setText(dot.firstElementChild, versions.length > 1 || !words.length ? [`${count(versions.length, "change")}${words.length ? ", the latest:" : ""}`, ...words].join("\n") : words[0]);
  }
  if (isNew) picture.frame.scrollLeft = picture.frame.scrollWidth; // the newest, where not all fits
}
