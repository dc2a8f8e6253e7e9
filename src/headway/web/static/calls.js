/** Tool calls and attempts of each item, found in the events of a session. */

const MOST = 400;

export class Calls {
  constructor() {
    this.clear();
  }

  clear() {
    this.era = -1;
    this.read = 0;
    this.byItem = new Map();
    this.attempts = new Map();
    this.agents = new Map();
    this.open = new Map();
  }

  /** Reads what is new in the log; items that have something new. */
  follow(log) {
    if (log.era !== this.era) {
      this.clear();
      this.era = log.era;
    }
    const touched = new Set();
    for (; this.read < log.events.length; this.read += 1) {
      const item = this.take(log.events[this.read]);
      if (item) touched.add(item);
    }
    return touched;
  }

  take(event) {
    switch (event.type) {
      case "ItemStarted":
        this.agents.set(event.agent, event.item_id);
        this.add(this.attempts, event.item_id, { started: event, ended: null });
        return event.item_id;
      case "ItemFinished":
        this.end(event);
        return event.item_id;
      case "ToolStarted":
        return this.began(event);
      case "ToolFinished":
        return this.finished(event);
      default:
        return null;
    }
  }

  add(map, key, value) {
    const known = map.get(key);
    if (!known) map.set(key, [value]);
    else {
      known.push(value);
      if (known.length > MOST) known.shift();
    }
  }

  end(event) {
    const attempts = this.attempts.get(event.item_id) ?? [];
    const attempt = attempts.findLast((one) => one.started.agent === event.agent);
    if (attempt) attempt.ended = event;
  }

  began(event) {
    const call = { started: event, ended: null };
    this.open.set(`${event.agent_id}\n${event.call_id}`, call);
    const item = this.agents.get(event.agent_id);
    if (item) this.add(this.byItem, item, call);
    return item ?? null;
  }

  finished(event) {
    const key = `${event.agent_id}\n${event.call_id}`;
    const known = this.open.get(key);
    this.open.delete(key);
    const call = known ?? { started: null, ended: null };
    call.ended = event;
    const executed = this.agents.get(event.agent_id);
    const item = executed ?? (event.agent_id === "main" ? event.item_id : null);
    if (item && !(known && executed)) this.add(this.byItem, item, call);
    return item ?? null;
  }
}
