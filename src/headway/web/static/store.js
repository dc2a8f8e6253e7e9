/** What the page knows: the sessions, and one of them whole. Told by the server alone; views are told once per frame. */

import { get, Problem, sessionPath } from "./api.js";
import { Calls } from "./calls.js";
import { EventLog } from "./event_log.js";
import { Stream } from "./stream.js";
import { takeSlot } from "./tab_slots.js";

const FIRST_EVENTS = 500;
const MOST_AT_ONCE = 1_000;

class Store {
  constructor() {
    /** All sessions of the project; null until they are known. */
    this.sessions = null;
    /** The session that is looked at: its state as the server told it, with `items` by id; null if there is none. */
    this.session = null;
    /** live, connecting, resting (it looks now and then), nokey or idle. */
    this.connection = "idle";
    /** Why there is no session, if that is so. */
    this.problem = null;
    this.log = new EventLog();
    this.calls = new Calls();
    this.listeners = new Set();
    this.dirty = null;
    this.wanted = null;
    this.stream = new Stream({
      heard: (change) => this.hear(change),
      gone: () => this.lookAgain(),
      stateIs: (state) => this.setConnection(state),
      refused: () => this.lookAgain(),
    });
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

  // the sessions

  async loadSessions() {
    try {
      this.sessions = await get("/api/sessions");
      this.mark({ sessions: true });
      if (this.connection === "nokey") this.setConnection("idle");
      this.watch();
    } catch (error) {
      this.failed(error);
      throw error;
    }
    return this.sessions;
  }

  /** A stream that fell silent while its session went on is opened again. */
  watch() {
    const known = this.session;
    const told = known && this.sessions.find((one) => one.name === known.name);
    const behind = told && told.version > known.version;
    if (behind && this.connection === "resting") this.refresh();
    else if (behind && this.behindSince === known.version) this.connect();
    this.behindSince = behind ? known.version : null;
  }

  failed(error) {
    if (!(error instanceof Problem)) throw error;
    if (error.needsKey) {
      this.stream.close();
      this.setConnection("nokey");
    } else if (error.kind === "network" && this.session) this.setConnection("connecting");
  }

  // one session

  async open(name) {
    this.wanted = name;
    this.stream.close();
    if (this.session?.name !== name) {
      this.session = null;
      this.problem = null;
      this.log.clear();
      this.calls.clear();
      this.mark({ whole: true, events: true });
    }
    if (name === null) return;
    try {
      const state = await get(sessionPath(name));
      if (this.wanted !== name) return;
      this.replace(state);
      this.connect();
      await this.fillLog();
    } catch (error) {
      if (this.wanted !== name) return;
      this.failed(error);
      this.problem = error;
      this.mark({ whole: !this.session });
      if (error.status === 404) this.forget();
      else if (!error.needsKey) this.retry(name);
    }
  }

  retry(name) {
    this.stream.name = name;
    this.stream.later();
  }

  forget() {
    this.session = null;
    this.setConnection("idle");
    this.mark({ whole: true });
    this.loadSessions().catch(() => {});
  }

  /** After the stream ended for good: whatever there is now. */
  lookAgain() {
    if (this.wanted !== null) this.open(this.wanted);
    this.loadSessions().catch(() => {});
  }

  /** Opens the stream, if this tab may have one; else it looks now and then. */
  async connect() {
    const may = await takeSlot();
    const known = this.session;
    if (!known || known.name !== this.wanted) return;
    if (may) this.stream.open(known.name, known.version);
    else this.rest();
  }

  rest() {
    this.stream.close();
    if (this.session) this.setConnection("resting");
  }

  wake() {
    if (this.session && !this.stream.isOpen && this.connection !== "connecting") this.connect();
  }

  async refresh() {
    const { name } = this.session;
    const state = await get(sessionPath(name)).catch(() => null);
    if (!state || this.session?.name !== name || state.version <= this.session.version) return;
    this.replace(state);
    this.fillLog();
  }

  replace(state) {
    const { todos, session, ...rest } = state;
    const before = this.session;
    if (before && state.version < before.version) this.log.clear(); // another session of the same name
    this.session = { ...rest, name: session, items: new Map(todos.map((todo) => [todo.id, todo])) };
    this.problem = null;
    this.mark({ whole: true, events: true });
  }

  hear(change) {
    const known = this.session;
    if (!known || change.version <= known.version) return;
    if (change.whole) {
      this.replace(change);
      this.fillLog();
    } else if (change.from === known.version) this.apply(known, change);
    else this.open(known.name);
  }

  apply(known, change) {
    const dirty = { events: this.log.add(change.events), undo: true, items: [] };
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
  }

  // events

  /** The newest events, after those that are known: tried until they are there, so that no hole is left. */
  async fillLog() {
    const { name, version } = this.session;
    const log = this.log;
    if (log.last && version - log.last > MOST_AT_ONCE) log.clear(); // too far behind: begun anew
    const from = log.last || Math.max(version - FIRST_EVENTS, 0);
    const era = log.begun;
    for (let wait = 1_000; from < version; wait = Math.min(wait * 2, 15_000)) {
      const events = await get(sessionPath(name, `/events?after=${from}&limit=${MOST_AT_ONCE}`)).catch(() => null);
      if (this.session?.name !== name || log.begun !== era) return;
      if (events) {
        log.merge(events);
        this.mark({ events: true });
        return;
      }
      await new Promise((later) => setTimeout(later, wait));
    }
  }

  /** Those before the first that is known; how many came. */
  async loadOlder(number = FIRST_EVENTS) {
    const { name } = this.session;
    const first = this.log.first;
    if (first <= 1) return 0;
    const from = Math.max(first - 1 - number, 0);
    const events = await get(sessionPath(name, `/events?after=${from}&limit=${first - 1 - from}`));
    if (this.session?.name !== name) return 0;
    this.log.addOlder(events);
    this.mark({ events: true });
    return events.length;
  }
}

export const store = new Store();
