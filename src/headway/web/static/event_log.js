/** The last events of a session, each once, in order and without a hole, and never more than there is room for. */

const KEPT = 2_000;
const SLACK = 500;
const MOST = 10_000;

export class EventLog {
  constructor() {
    this.clear();
  }

  /** `before`: the version after which it begins. */
  clear(before = 0) {
    this.events = [];
    this.before = before;
    this.room = KEPT;
    /** How often it was begun anew. */
    this.begun = (this.begun ?? 0) + 1;
    /** Grows whenever what was there before is not a beginning of what is there now. */
    this.era = (this.era ?? 0) + 1;
  }

  get first() {
    return this.events.length ? this.events[0].version : 0;
  }

  get last() {
    return this.events.length ? this.events.at(-1).version : this.before;
  }

  /** Adds what is newer; true if it goes on from what is there, false if something between is missing: nothing is added. */
  add(events) {
    const last = this.last;
    const fresh = events.filter((event) => event.version > last);
    if (fresh.length && fresh[0].version !== last + 1) return false;
    this.events.push(...fresh);
    if (this.events.length > this.room + SLACK) {
      this.events.splice(0, this.events.length - this.room);
      this.era += 1;
    }
    return true;
  }

  /** Puts older ones before, if they lead up to the first; a person asked for them, so there is more room. */
  addOlder(events) {
    const first = this.first;
    const older = events.filter((event) => event.version < first);
    if (older.at(-1)?.version !== first - 1) return;
    this.events = [...older, ...this.events];
    this.room = Math.min(Math.max(this.room, this.events.length), MOST);
    this.era += 1;
  }
}
