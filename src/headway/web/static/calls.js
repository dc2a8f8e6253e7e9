/** Tool calls, attempts and rollbacks of each item, found in the events of a session. */

const MOST = 400;

export class Calls {
  constructor() {
    this.clear();
  }

  clear() {
    /** The version of the first event that was read: from then on every attempt is known. */
    this.from = Infinity;
    this.last = 0;
    /** By item, in order: attempts and rollbacks, each with the event that it `began` with; `left` if it was broken off. */
    this.past = new Map();
    this.agents = new Map();
    this.going = new Map();
    this.forgetCalls();
  }

  forgetCalls() {
    this.read = 0;
    this.byItem = new Map();
    this.open = new Map();
  }

  /** Reads what is new in the log; items that have something new. Attempts are kept when their events leave the log. */
  follow(log) {
    if (log.begun !== this.begun || log.first > this.last + 1) this.clear();
    else if (log.era !== this.era) this.forgetCalls();
    ({ begun: this.begun, era: this.era, last: this.last } = log);
    if (log.events.length) this.from = Math.min(this.from, log.first);
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
        if (this.remember(event)) this.going.set(event.agent, this.past.get(event.item_id).findLast((one) => one.began === event));
        return event.item_id;
      case "ItemFinished":
        this.end(event);
        return event.item_id;
      case "ItemRolledBack":
        this.remember(event);
        return event.item_id;
      case "RunStarted":
      case "RunFinished":
        this.leave(event, event.agent_id);
        return null;
      case "ToolStarted":
        return this.began(event);
      case "ToolFinished":
        return this.finished(event);
      default:
        return null;
    }
  }

  /** Each once, in order, also if it is read again after older ones; whether it is new. */
  remember(event) {
    const known = this.past.get(event.item_id) ?? [];
    if (known.some((one) => one.began.version === event.version)) return false;
    known.push({ began: event, ended: null, left: null });
    this.past.set(event.item_id, known.sort((one, other) => one.began.version - other.began.version));
    return true;
  }

  end(event) {
    const attempt = this.past.get(event.item_id)?.findLast((one) => one.began.agent === event.agent);
    if (attempt) attempt.ended = event;
    this.going.delete(event.agent);
    this.leave(event, event.agent);
  }

  /** What an agent, or with the main agent everyone, has not ended by then does not go on any more. */
  leave(event, agent) {
    const isOver = (one, whose) => (agent === "main" || agent === whose) && one.version < event.version;
    for (const call of this.open.values()) if (isOver(call.started, call.started.agent_id)) call.left ??= event;
    if (agent !== "main") return;
    for (const [whose, attempt] of this.going) {
      if (!isOver(attempt.began, whose)) continue;
      attempt.left = event;
      this.going.delete(whose);
    }
  }

  add(item, call) {
    const known = this.byItem.get(item);
    if (!known) this.byItem.set(item, [call]);
    else {
      known.push(call);
      if (known.length > MOST) known.shift();
    }
  }

  /** The item that a call is work on; to report on it is none, and is not counted as a call of the item either. */
  executedBy(event) {
    return event.effect === "todo" ? null : this.agents.get(event.agent_id);
  }

  began(event) {
    const call = { started: event, ended: null, left: null };
    this.open.set(`${event.agent_id}\n${event.call_id}`, call);
    const item = this.executedBy(event);
    if (item) this.add(item, call);
    return item ?? null;
  }

  finished(event) {
    const key = `${event.agent_id}\n${event.call_id}`;
    const known = this.open.get(key);
    this.open.delete(key);
    const call = known ?? { started: null, ended: null, left: null };
    call.ended = event;
    const executed = this.executedBy(event);
    const item = executed ?? (event.agent_id === "main" ? event.item_id : null);
    if (item && !(known && executed)) this.add(item, call);
    return item ?? null;
  }
}
