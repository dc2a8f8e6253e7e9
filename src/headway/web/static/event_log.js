/** The last events of a session, each once and in order, and never more than there is room for. */

const KEPT = 2_000;
const SLACK = 500;
const MOST = 10_000;

export class EventLog {
  constructor() {
    this.clear();
  }

  clear() {
    this.events = [];
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
    return this.events.length ? this.events.at(-1).version : 0;
  }

  /** Adds what is newer; true if there was something. */
  add(events) {
    const last = this.last;
    const fresh = events.filter((event) => event.version > last);
    this.events.push(...fresh);
    if (this.events.length > this.room + SLACK) {
      this.events.splice(0, this.events.length - this.room);
      this.era += 1;
    }
    return fresh.length > 0;
  }

  /** Puts older ones before; a person asked for them, so there is more room. */
  addOlder(events) {
    const first = this.first;
    const older = events.filter((event) => !first || event.version < first);
    this.events = [...older, ...this.events];
    this.room = Math.min(Math.max(this.room, this.events.length), MOST);
    this.era += 1;
  }

  /** Fills a hole before the newest ones: events that were told while others were fetched stay. */
  merge(events) {
    if (!events.length) return;
    const known = new Map(this.events.map((event) => [event.version, event]));
    for (const event of events) known.set(event.version, event);
    this.events = [...known.values()].sort((one, other) => one.version - other.version);
    this.era += 1;
  }
}
