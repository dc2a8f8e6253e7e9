/** The page: puts the parts together, tells each what is new, and goes where the address says. */

import { NO_KEY } from "./api.js";
import { focusAdding } from "./add_form.js";
import { closeItem, editItem, focusDetail, mountDetail, tickDetail, updateDetail } from "./detail_view.js";
import { h, keepFocus, said, setAttribute, setText } from "./dom.js";
import { mountFeedback } from "./feedback.js";
import { mountGraph, updateGraph } from "./graph_view.js";
import { back, mountHead, updateHead } from "./head_view.js";
import { focusRow, focusSearch, mountList, tickList, updateList } from "./list_view.js";
import { mountLog, updateLog } from "./log_view.js";
import { mountPlan, updatePlan } from "./plan_view.js";
import { lookAtProject, project } from "./project.js";
import { focusQuestion, mountQuestions, updateQuestions } from "./questions_view.js";
import { go, onRoute, route, VIEWS } from "./route.js";
import { mountRun, sendMessage, startRun, tickRun, updateRun } from "./run_view.js";
import { mountSessions, newSession, tickSessions, updateSessions } from "./sessions_view.js";
import { mountShortcuts, showKeys } from "./shortcuts.js";
import { store } from "./store.js";
import { shareSlots } from "./tab_slots.js";
import { line } from "./text.js";
import { mountTimeline, tickTimeline, updateTimeline } from "./timeline_view.js";

const LOOK_EVERY = 2_000;
const byId = (id) => document.getElementById(id);
const views = {
  list: { name: "List", mount: (element) => mountList(element, { openItem, editItem: openEditor }), update: updateList },
  graph: { name: "Graph", mount: mountGraph, update: updateGraph },
  timeline: { name: "Timeline", mount: mountTimeline, update: updateTimeline },
  plan: { name: "Plan", mount: mountPlan, update: updatePlan },
  log: { name: "Log", mount: mountLog, update: updateLog },
};

function openItem(id, withFocus) {
  go({ item: id }, { replace: route.item !== null });
  focusDetail(withFocus);
}

function openEditor(id) {
  go({ item: id }, { replace: route.item !== null });
  editItem();
}

// the views

function mountTabs() {
  const tabs = VIEWS.map((view) => h("button", { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": `view-${view}`, data: { view } }, views[view].name));
  byId("tabs").append(...tabs);
  byId("tabs").addEventListener("click", (event) => event.target.dataset.view && go({ view: event.target.dataset.view }));
  byId("tabs").addEventListener("keydown", (event) => {
    const here = tabs.indexOf(event.target);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (here < 0 || to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    go({ view: tab.dataset.view });
    tab.focus();
  });
}

function showView() {
  keepFocus(byId("session"), markView, () => byId(`tab-${route.view}`).focus());
}

function markView() {
  for (const view of VIEWS) {
    const isShown = view === route.view;
    byId(`view-${view}`).hidden = !isShown;
    setAttribute(byId(`tab-${view}`), "aria-selected", String(isShown));
    setAttribute(byId(`tab-${view}`), "tabindex", isShown ? "0" : "-1");
  }
  byId("app").dataset.view = route.view;
}

function setDrawer(isOpen) {
  const isNeeded = byId("drawer").checkVisibility();
  keepFocus(byId("sessions"), () => byId("app").classList.toggle("has-drawer", isOpen && isNeeded), () => byId("drawer").focus());
  setAttribute(byId("drawer"), "aria-expanded", String(isOpen));
}

// telling

const missed = new Map(VIEWS.map((view) => [view, true]));

/** Views that are not looked at are told when they are. */
function update(dirty) {
  if (dirty.whole) adoptName();
  if (dirty.sessions) follow();
  updateSessions(dirty);
  updateMessage(dirty);
  updateConnection(dirty);
  updateQuestions(dirty);
  updateHead(dirty);
  updateRun(dirty);
  for (const view of VIEWS) {
    if (view === "list" || view === route.view) {
      views[view].update(missed.get(view) && view !== "list" ? { ...dirty, shown: true } : dirty);
      missed.set(view, false);
    } else missed.set(view, true);
  }
  updateDetail(dirty);
  updateTitle();
  setText(byId("project"), line(project?.name ?? "", 80));
}

function updateTitle() {
  const session = store.session;
  const items = session ? [...session.items.values()] : [];
  const done = items.filter((todo) => todo.status === "completed" || todo.status === "cancelled").length;
  const sign = session?.questions?.length ? "? " : session?.run?.goes_on ? "● " : "";
  const title = session ? `${sign}${items.length ? `${done}/${items.length} ` : ""}${line(session.name, 60)} — Headway` : project ? `${line(project.name, 60)} — Headway` : "Headway";
  if (document.title !== title) document.title = title;
}

const CONNECTIONS = { live: "Live", connecting: "Reconnecting…", away: "Server not responding", resting: "Updating every few seconds", nokey: "No key", idle: "" };

function updateConnection(dirty) {
  if (!dirty.connection) return;
  setText(byId("connection"), CONNECTIONS[store.connection]);
  setAttribute(byId("connection"), "title", store.connection === "away" ? "Start it again with “headway web”; nothing on this page is lost." : null);
  setAttribute(byId("connection"), "class", `connection is-${store.connection === "away" ? "connecting" : store.connection}`);
}

function messageKey() {
  const { connection, problem, session, sessions } = store;
  if (connection === "nokey") return "nokey";
  if (session) return "";
  if (problem) return `problem ${problem.message}`;
  return sessions === null || store.wanted ? "wait" : sessions.length ? "choose" : "begin";
}

/** What there is to say in place of a session, or above it. */
function updateMessage(dirty) {
  if (!(dirty.whole || dirty.sessions || dirty.connection || dirty.route)) return;
  byId("session").hidden = !store.session;
  const place = byId("message");
  const key = messageKey();
  place.hidden = !key;
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const begin = () => h("button", { type: "button", class: "primary", on: { click: () => newSession() } }, "New session…");
  const content = {
    nokey: () => [h(store.session ? "h2" : "h1", {}, "This page is locked"), h("p", {}, NO_KEY)],
    wait: () => [h("p", {}, "Loading…")],
    choose: () => [h("h1", {}, "Choose a session"), h("p", {}, "The sessions of this project are on the left."), begin()],
    begin: () => [
      h("h1", {}, "No sessions yet"),
      h("p", {}, "A session holds a list of items, a plan and the history of all work on them. Start one here, or in a terminal in this project:"),
      h("pre", { class: "command" }, 'headway todos add "Write the parser"\nheadway run "Plan the import of bookmarks"'),
      begin(),
    ],
  }[key];
  const problem = () => {
    const { message, status } = store.problem;
    const advice = { 404: "It may have been deleted. Choose another session on the left.", 400: "Choose another session on the left." }[status] ?? "Retrying automatically.";
    return [h("h1", {}, status === 404 ? "Session not found" : "Something went wrong"), said(message, "p"), h("p", {}, advice)];
  };
  place.replaceChildren(h("div", { class: "message" }, ...(key ? (content ?? problem)() : [])));
}

// going

/** The session that the address names, else the current one, else the last that was changed. */
function wantedSession() {
  if (route.session !== null) return route.session;
  const sessions = store.sessions ?? [];
  const last = sessions.toSorted((one, other) => (one.updated_at < other.updated_at ? 1 : -1))[0];
  return (sessions.find((one) => one.current) ?? last)?.name ?? null;
}

function follow() {
  const name = wantedSession();
  if (name !== route.session && name !== null) go({ session: name }, { replace: true });
  if (name !== store.wanted) store.open(name);
}

/** The server says how the name is really written. */
function adoptName() {
  if (!store.session || store.session.name === route.session || store.wanted !== route.session) return;
  store.wanted = store.session.name;
  go({ session: store.session.name, item: route.item }, { replace: true });
}

/** Also from an item that lies over it. */
function goToList() {
  go({ view: "list", ...(byId("main").inert && { item: null }) });
}

function mountKeys() {
  const actions = {
    n: () => (goToList(), store.session ? focusAdding() : newSession()),
    "/": () => (route.view === "log" ? byId("view-log").querySelector("input").focus() : (goToList(), focusSearch())),
    u: () => store.session && back("undo"),
    U: () => store.session && back("redo"),
    x: () => startRun(),
    m: () => sendMessage(),
    q: () => focusQuestion(),
    l: () => (goToList(), focusRow()),
    e: () => editItem(),
    s: () => (setDrawer(true), (byId("sessions").querySelector("[aria-current]") ?? byId("sessions").querySelector("button"))?.focus()),
    "?": () => showKeys(),
    Escape: () => (byId("app").classList.contains("has-drawer") ? (setDrawer(false), byId("drawer").focus()) : route.item !== null && closeItem()),
  };
  mountShortcuts(actions, (view) => go({ view }));
}

function start() {
  mountFeedback(byId("live"), byId("notice"));
  mountSessions(byId("sessions"), { chosen: () => setDrawer(false) });
  mountHead(byId("head"));
  mountQuestions(byId("questions"));
  mountRun(byId("run"));
  mountTabs();
  for (const view of VIEWS) views[view].mount(byId(`view-${view}`));
  mountDetail(byId("detail"), { closed: (id) => (route.view === "list" && focusRow(id)) || byId("main").focus({ preventScroll: true }) });
  mountKeys();
  byId("help").addEventListener("click", showKeys);
  byId("skip").addEventListener("click", () => byId("main").focus());
  byId("drawer").addEventListener("click", () => setDrawer(!byId("app").classList.contains("has-drawer")));
  byId("main").addEventListener("pointerdown", () => setDrawer(false));
  store.on(update);
  onRoute((now, before) => {
    if (now.view !== before.view) showView();
    if (now.session !== before.session) follow();
    store.mark({ route: true });
    store.tell();
  });
  showView();
  setInterval(() => {
    if (document.hidden) return;
    tickSessions();
    if (!store.session) return;
    const now = Date.now();
    tickRun(now);
    tickDetail(now);
    if (route.view === "list") tickList(now);
    if (route.view === "timeline") tickTimeline();
  }, 1_000);
  setInterval(() => document.hidden || store.connection !== "resting" || store.look(), LOOK_EVERY);
  shareSlots({ lost: () => store.rest(), wanted: () => store.wake() });
  document.addEventListener("visibilitychange", () => store.tell());
  addEventListener("online", () => store.wake());
  lookAtProject().then(() => store.mark({ run: true }));
  follow();
}

start();
