/** What is looked at — session, view, item — kept in the address, so that a reload and the back button find it. */

export const VIEWS = ["list", "graph", "timeline", "plan", "log"];

const listeners = new Set();

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const view = given.get("view");
  return { session: given.get("session"), view: VIEWS.includes(view) ? view : "list", item: given.get("item") };
}

export let route = read();

/** Goes somewhere; what is not named stays, but another session has no item chosen. */
export function go(change, { replace = false } = {}) {
  const next = { ...route, ...change };
  if (change.session !== undefined && change.session !== route.session && change.item === undefined) next.item = null;
  const params = new URLSearchParams();
  for (const name of ["session", "view", "item"]) if (next[name]) params.set(name, next[name]);
  const hash = `#${params}`;
  if (hash === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", hash);
  tell();
}

function tell() {
  const before = route;
  route = read();
  for (const listener of listeners) listener(route, before);
}

export function onRoute(listener) {
  listeners.add(listener);
}

addEventListener("popstate", tell);
