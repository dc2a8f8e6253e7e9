/** A view that is a picture: drawn by the server, built here from its elements, used with mouse and keys. */

import { get, Problem, sessionPath } from "./api.js";
import { arrange, h, setAttribute, setText, svg } from "./dom.js";
import { go, route } from "./route.js";
import { store } from "./store.js";

const EVERY = 500;

/** element → the description that it was last built from. */
const built = new WeakMap();

/** Makes an element what the server says: `[tag, attributes, children]`. What is there stays: by its key, else by its place. */
function build(known, description) {
  const [tag, attributes, children] = description;
  const element = known?.tagName === tag ? known : svg(tag);
  const [, before, childrenBefore] = built.get(element) ?? [tag, {}, []];
  built.set(element, description);
  for (const name in before) if (!Object.hasOwn(attributes, name)) element.removeAttribute(name);
  for (const name in attributes) if (before[name] !== attributes[name]) element.setAttribute(name, attributes[name]);
  if (children.every((child) => typeof child === "string")) {
    if (childrenBefore.join("") !== children.join("")) element.textContent = children.join("");
    return element;
  }
  const withKey = new Map();
  const others = [];
  const there = [...element.children];
  for (const child of there) {
    const key = built.get(child)?.[1]["data-key"];
    if (key) withKey.set(key, child);
    else others.push(child);
  }
  const wanted = children.map((child) => build(child[1]["data-key"] ? withKey.get(child[1]["data-key"]) : others.shift(), child));
  if (wanted.length !== there.length || wanted.some((child, index) => child !== there[index])) arrange(element, wanted);
  return element;
}

export class Picture {
  /** `kind`: its name at the server; `query()`: what the server has to know; `drawn(isNew)` after it was drawn. */
  constructor(place, kind, { empty, tools = [], query = () => ({}), drawn = () => {} }) {
    Object.assign(this, { place, kind, query, drawn, last: 0, isUrgent: false });
    this.about = h("p", { class: "view-about" });
    this.head = h("div", { class: "view-head" }, this.about, ...tools);
    this.empty = h("p", { class: "empty", hidden: true }, empty);
    this.frame = h("div", { class: "picture-frame" });
    this.head.hidden = true;
    place.append(this.head, this.empty, this.frame);
    this.frame.addEventListener("click", (event) => this.choose(event));
    this.frame.addEventListener("keydown", (event) => {
      if ((event.key === "Enter" || event.key === " ") && this.choose(event)) event.preventDefault();
    });
  }

  choose(event) {
    const chosen = event.target.closest("[data-id]");
    if (chosen) go({ item: chosen.dataset.id });
    return chosen;
  }

  /** Draws it anew if something is different: at once if a person looks elsewhere, else at most twice a second. */
  update(dirty) {
    if (!(dirty.whole || dirty.events || dirty.items.size || dirty.order || dirty.route || dirty.shown)) return;
    this.want(dirty.whole || dirty.route || dirty.shown);
  }

  want(isUrgent) {
    this.isUrgent ||= Boolean(isUrgent);
    if (this.isUrgent) setAttribute(this.place, "aria-busy", "true");
    this.isWanted = true;
    if (this.isDrawing) return;
    clearTimeout(this.timer);
    const wait = this.isUrgent ? 0 : Math.max(0, this.last + EVERY - performance.now());
    if (wait) this.timer = setTimeout(() => this.draw(), wait);
    else this.draw();
  }

  async draw() {
    const { session } = store;
    const { isUrgent } = this;
    this.isWanted = this.isUrgent = false;
    this.last = performance.now();
    if (!session) return;
    this.isDrawing = true;
    const query = new URLSearchParams({ ...this.query(), ...(route.item !== null && { item: route.item }) });
    const answer = await get(sessionPath(session.name, `/${this.kind}?${query}`)).catch((error) => error);
    this.isDrawing = false;
    if (!(answer instanceof Error) && store.session?.log === session.log) this.show(answer, isUrgent);
    else if (answer instanceof Error && !(answer instanceof Problem)) throw answer;
    if (this.isWanted) this.want(false);
    else setAttribute(this.place, "aria-busy", null);
  }

  show({ picture, about }, isNew) {
    this.head.hidden = this.frame.hidden = !picture;
    this.empty.hidden = Boolean(picture);
    setText(this.about, about);
    if (!picture) return;
    arrange(this.frame, [build(this.frame.firstElementChild, picture)]);
    this.drawn(isNew);
  }
}
