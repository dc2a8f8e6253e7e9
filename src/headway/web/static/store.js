/** What the page knows: the sessions, and one of them whole. Told by the server alone; views are told once per frame. */

import { get, onKeyLost, Problem, sessionPath } from "./api.js";
import { Calls } from "./calls.js";
import { EventLog } from "./event_log.js";
import { Stream } from "./stream.js";
import { takeSlot } from "./tab_slots.js";

const FIRST_EVENTS = 500;
const MOST_AT_ONCE = 1_000;
const PATIENCE = 5_000;
const CHECK_PATIENCE = 10_000;

class Store {
  constructor() {
    /** All sessions of the project; null until they are known. */
    this.sessions = null;
    /** The session that is looked at: its state as the server told it, with `items` by id; null if there is none. */
    this.session = null;
    /** live, connecting, away (that takes long), resting (it looks now and then), nokey or idle. */
    this.connection = "idle";
    /** Why there is no session, if that is so. */
    this.problem = null;
    this.log = new EventLog();
    this.calls = new Calls();
    this.listeners = new Set();
    this.dirty = null;
    /** The name of the session that is to be looked at; null for none, undefined before that is known. */
    this.wanted = undefined;
    this.stream = new Stream({
      change: (change) => this.hear(change),
      sessions: (sessions) => this.hearSessions(sessions),
      stateIs: (state) => this.setConnection(state),
      again: (look) => (look ? this.open(this.wanted, false) : this.connect()),
    });
    onKeyLost(() => this.lock());
  }

  /** `listener(dirty)`: what is different since it was last called. */
  on(listener) {
    this.listeners.add(listener);
  }

  mark(change) {
    const dirty = (this.dirty ??= this.scheduled());
    for (const id of change.items ?? []) dirty.items.add(id);
    for (const [name, value] of Object.entries(change)) if (name !== "items" && value) dirty[name] = true;
  }

  scheduled() {
    if (document.hidden) setTimeout(() => this.tell(), 200); // nothing is drawn, but the title still tells
    else requestAnimationFrame(() => this.tell());
    return { items: new Set() };
  }

  tell() {
    const dirty = this.dirty;
    if (!dirty) return;
    this.dirty = null;
    if (dirty.events) for (const id of this.calls.follow(this.log)) dirty.items.add(id);
    for (const listener of this.listeners) listener(dirty);
  }

  setConnection(state) {
    if (this.connection === state) return;
    this.connection = state;
    this.mark({ connection: true });
  }

  /** Without a key nothing is told any more. */
  lock() {
    this.stream.close();
    this.setConnection("nokey");
  }

  /** Whether what is shown is what is so, as far as anyone can tell; else nothing may be allowed by it. */
  get isConnected() {
    return this.connection === "live" || this.connection === "resting";
  }

  // the sessions

  hearSessions(sessions) {
    this.sessions = sessions;
    this.mark({ sessions: true });
    this.compare();
  }

  /** Asks for them; what is told meanwhile is newer. */
  async loadSessions() {
    const known = this.sessions;
    const sessions = await get("/api/sessions", CHECK_PATIENCE);
    if (this.sessions === known) this.hearSessions(sessions);
    return this.sessions;
  }

  /** Looks at a session that is another one than is known here, unless the stream is about to tell. */
  compare() {
    const { session, wanted } = this;
    const told = this.sessions.find((one) => one.name === wanted);
    if (!session && told && !told.problem && this.problem?.status >= 404) return this.stream.later(true); // it is there now
    const isBehind = session !== null && !(told?.version <= session.version);
    if (session && this.connection === "resting" && (isBehind || told.created_at !== this.createdAt)) this.refresh();
    if (!isBehind) this.behind = null;
    else if (this.behind?.version !== session.version) this.behind = { version: session.version, since: Date.now() };
    else if (this.stream.isOpen && Date.now() - this.behind.since > PATIENCE) this.stream.later(true);
    this.createdAt = told?.created_at;
  }

  /** Whether all is well: a stream may be cut off without a word. */
  async check() {
    try {
      await this.loadSessions();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.kind === "network" && !this.stream.isWaiting) this.stream.later(true);
    }
  }

  // one session

  /** `isNew`: a person wants to see it, so that this tab goes before others. */
  async open(name, isNew = true) {
    const asked = {};
    this.asked = asked; // whoever asks later goes before
    this.wanted = name;
    this.stream.close();
    if (isNew && this.session?.name !== name) this.leave();
    try {
      const state = name === null ? await this.loadSessions() : await get(sessionPath(name));
      if (this.asked !== asked) return;
      if (name !== null) this.replace(state);
      this.connect(isNew);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (this.asked === asked && !error.needsKey) this.missing(error, isNew);
    }
  }

  leave() {
    this.session = null;
    this.problem = null;
    this.log.clear();
    this.mark({ whole: true, events: true });
  }

  /** It is not there, or not now. */
  missing(error, isNew) {
    if (!error.isPassing) this.leave();
    this.problem = error;
    this.mark({ whole: !this.session });
    if (error.isPassing) this.stream.later(true);
    else this.connect(isNew);
  }

  /** Opens the stream, if this tab may have one; else it looks now and then. */
  async connect(mayRob = false) {
    const asked = this.asked;
    const may = await takeSlot(mayRob);
    if (this.asked !== asked) return;
    const known = this.session;
    if (!may) this.rest();
    else this.stream.open(known ? sessionPath(known.name, `/stream?after=${known.version}&log=${known.log}`) : "/api/stream");
  }

  rest() {
    this.stream.close();
    this.setConnection("resting");
  }

  /** Someone looks at the page, or the network is back. */
  wake() {
    if (this.connection === "nokey" || this.stream.isWaiting) this.open(this.wanted);
    else if (this.connection === "resting") this.connect(true);
    else if (this.stream.isOpen) this.check();
  }

  /** Without a stream: whatever is new, and a stream if another tab has left one. */
  async look() {
    await this.check();
    if (this.connection === "resting") this.connect();
  }

  async refresh() {
    const { name } = this.session;
    const state = await get(sessionPath(name)).catch((error) => error);
    if (this.session?.name !== name || this.connection !== "resting") return;
    if (state instanceof Problem) state.status === 404 && this.missing(state);
    else if (state.log !== this.session.log || state.version > this.session.version) this.replace(state);
  }

  replace(state) {
    const { todos, session, whole, from, ...rest } = state;
    if (this.session?.log !== state.log) {
      this.stream.failures = 0;
      this.log.clear(); // another session, maybe of the same name
    }
    this.session = { ...rest, name: session, items: new Map(todos.map((todo) => [todo.id, todo])) };
    this.problem = null;
    this.mark({ whole: true, events: true });
    this.fillLog();
  }

  hear(change) {
    const known = this.session;
    if (!known || change.version <= known.version) return;
    if (change.whole) this.replace(change);
    else if (change.from === known.version) this.apply(known, change);
    else this.open(known.name, false);
  }

  apply(known, change) {
    const dirty = { events: true, undo: true, items: [] };
    for (const todo of change.items ?? []) {
      known.items.set(todo.id, todo);
      dirty.items.push(todo.id);
    }
    if (change.order) {
      known.items = new Map(change.order.map((id) => [id, known.items.get(id)]));
      dirty.order = true;
    }
    for (const name of ["title", "plan", "plan_mode", "run", "questions", "can_undo", "can_redo", "version"]) {
      if (!(name in change)) continue;
      known[name] = change[name];
      dirty[name] = true;
    }
    this.mark(dirty);
    if (!this.log.add(change.events)) this.fillLog();
  }

  // events

  /** Fetches what is missing of the newest events: tried until they are there. */
  async fillLog() {
    const log = this.log;
    const missing = () => this.session.version - log.last;
    if (missing() > (log.events.length ? MOST_AT_ONCE : FIRST_EVENTS)) log.clear(this.session.version - FIRST_EVENTS);
    const { begun } = log;
    if (this.filling === begun) return;
    this.filling = begun;
    const { name } = this.session;
    for (let wait = 500; missing() > 0; wait = Math.min(wait * 2, 8_000)) {
      const limit = Math.min(missing(), MOST_AT_ONCE);
      const events = await get(sessionPath(name, `/events?after=${log.last}&limit=${limit}`)).catch(() => []);
      if (log.begun !== begun) return;
      log.add(events);
      this.mark({ events: true });
      if (!events.length) await new Promise((later) => setTimeout(later, wait));
      if (log.begun !== begun) return;
    }
    this.filling = null;
  }

  /** Those before the first that is known; how many came. */
  async loadOlder(number = FIRST_EVENTS) {
    const { first, begun } = this.log;
    if (first <= 1) return 0;
    const from = Math.max(first - 1 - number, 0);
    const events = await get(sessionPath(this.session.name, `/events?after=${from}&limit=${first - 1 - from}`));
    if (this.log.begun !== begun) return 0;
    this.log.addOlder(events);
    this.mark({ events: true });
    return events.length;
  }
}

export const store = new Store();
