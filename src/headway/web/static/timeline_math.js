/** Who worked on what when: stretches of time from events and items, in lanes, on an axis without the idle hours. Pure. */

import { at } from "./time.js";

/** Stretches {who, item, from, to (null: goes on), kind} and moments {who, at, words}. */
export function readTimeline(events, items, now) {
  const stretches = [];
  const moments = [];
  const open = new Map();
  const covered = new Set();
  const end = (key, to, kind) => {
    const one = open.get(key);
    if (!one) return;
    open.delete(key);
    one.to = Math.max(one.from, to); // a clock may be set back
    one.kind = kind;
  };
  const begin = (key, stretch) => {
    open.set(key, stretch);
    stretches.push(stretch);
    covered.add(stretch.item);
  };
  for (const event of events) {
    const time = at(event.timestamp);
    if (event.type === "ItemStarted") {
      end(`s ${event.item_id}`, time, "quiet");
      begin(`x ${event.agent}`, { who: "executor", item: event.item_id, from: time, to: null, kind: "running" });
    } else if (event.type === "ItemFinished") {
      const known = open.has(`x ${event.agent}`);
      if (!known) begin(`x ${event.agent}`, { who: "executor", item: event.item_id, from: time - event.seconds * 1000, to: null, kind: "running" });
      end(`x ${event.agent}`, time, { completed: "done", conflict: "conflict" }[event.outcome] ?? "blocked");
    } else if (event.type === "TodoListUpdated" && event.agent_id === "main") ofList(event, time, { begin, end, open, moments });
    else if (event.type === "RunFinished" && event.agent_id === "main") for (const key of [...open.keys()]) if (key.startsWith("x ")) end(key, time, "blocked");
    if (event.actor === "user" && event.type !== "TodoListUpdated") moments.push({ who: "user", at: time, event });
  }
  for (const todo of items.values()) if (!covered.has(todo.id)) ofItem(todo, stretches);
  markVerified(stretches.filter((one) => one.kind === "done" || one.kind === "reported"), items);
  for (const one of stretches) if (one.to === null && items.get(one.item)?.status !== "in_progress") Object.assign(one, { to: Math.max(one.from, at(items.get(one.item)?.completed_at) || one.from), kind: "quiet" });
  return { stretches: stretches.filter((one) => !Number.isNaN(one.from) && one.from <= (one.to ?? now)), moments };
}

/** Of the stretches in which an item was completed, its evidence belongs to the last; by order, since clocks are set. */
function markVerified(completions, items) {
  const last = new Map(completions.map((one) => [one.item, one]));
  for (const one of completions) {
    const todo = items.get(one.item);
    const isVerified = todo?.status === "completed" && todo.evidence?.level === "verified" && last.get(one.item) === one;
    one.kind = isVerified ? "done" : "reported";
    one.level = last.get(one.item) === one && todo?.status === "completed" ? (todo.evidence?.level ?? "reported") : "reported";
  }
}

function ofList(event, time, { begin, end, open, moments }) {
  for (const change of event.changes ?? []) {
    if (!change.status) continue;
    const key = `s ${change.id}`;
    const [before, after] = change.status;
    if (before === "in_progress") end(key, time, { completed: "reported", blocked: "blocked" }[after] ?? "quiet");
    if (after === "in_progress" && event.actor !== "executor") begin(key, { who: event.actor, item: change.id, from: time, to: null, kind: "running" });
  }
  if (event.actor === "user" && !(event.changes ?? []).every((change) => change.status && open.has(`s ${change.id}`))) moments.push({ who: "user", at: time, event });
}

/** Of an item whose work is no longer in the events that are known. */
function ofItem(todo, stretches) {
  const from = at(todo.started_at);
  if (Number.isNaN(from)) return;
  const kind = { completed: todo.evidence?.level === "verified" ? "done" : "reported", in_progress: "running", blocked: "blocked" }[todo.status] ?? "quiet";
  stretches.push({ who: todo.owner ?? "earlier", item: todo.id, from, to: todo.status === "in_progress" ? null : at(todo.completed_at) || from, kind });
}

/** For each who, stretches in as few lanes as they need: no two in a lane overlap. */
export function inLanes(stretches, now) {
  const lanes = new Map();
  for (const one of stretches.toSorted((a, b) => a.from - b.from)) {
    if (!lanes.has(one.who)) lanes.set(one.who, []);
    const own = lanes.get(one.who);
    let lane = own.find((free) => free.until <= one.from);
    if (!lane) own.push((lane = { until: 0, stretches: [] }));
    lane.stretches.push(one);
    lane.until = one.to ?? now;
  }
  return lanes;
}

/** Moments that are too near to be told apart, together. */
export function inHeaps(moments, axis, least) {
  const heaps = [];
  for (const one of moments.toSorted((a, b) => a.at - b.at)) {
    const place = axis.at(one.at);
    const last = heaps.at(-1);
    if (last && place - last.place < least) last.moments.push(one);
    else heaps.push({ place, moments: [one] });
  }
  return heaps;
}

/** Where an axis ends that goes on: it grows in steps, so that what is drawn stays where it is in between. */
export function endOf(from, now) {
  const step = 2 ** Math.floor(Math.log2(Math.max(now - from, 1_000) / 16));
  return from + Math.ceil((now - from) / step) * step;
}

/** From moments to parts of the width: hours in which nothing happened take little of it, and no span less than `least` of it. */
export class Axis {
  constructor(spans, least = 0) {
    const busy = [];
    for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
      const last = busy.at(-1);
      if (last && from <= last[1]) last[1] = Math.max(last[1], to);
      else busy.push([from, to]);
    }
    const worked = Math.max(busy.reduce((sum, [from, to]) => sum + to - from, 0), 1_000);
    const longest = Math.max(worked * Math.min(0.12, 0.6 / busy.length), 300);
    this.pieces = [];
    let place = 0;
    const cuts = [...new Set(spans.flat())].sort((a, b) => a - b);
    let cut = 0;
    busy.forEach(([from, to], index) => {
      while (cuts[cut] <= from) cut += 1;
      let begin = from;
      do {
        const end = Math.min(cuts[cut] ?? to, to);
        this.pieces.push({ from: begin, to: end, size: end - begin, idle: false });
        begin = end;
      } while (begin < to && (cut += 1));
      const next = busy[index + 1];
      if (!next) return;
      const gap = next[0] - to;
      this.pieces.push({ from: to, to: next[0], size: Math.min(gap, longest), idle: gap > longest });
    });
    this.#widen(spans, worked, least);
    for (const piece of this.pieces) {
      piece.place = place;
      place += piece.size;
    }
    this.total = Math.max(place, 1_000);
  }

  /** Makes room for short spans; all of them together take at most half of the width. */
  #widen(spans, worked, least) {
    const short = spans.filter(([from, to]) => from < to && to - from < worked * least);
    if (!short.length) return;
    const share = Math.min(least, 0.5 / short.length);
    const wanted = Math.max(this.pieces.reduce((sum, piece) => sum + piece.size, 0), 1_000) * (share / (1 - share * short.length));
    let first = 0;
    for (const [from, to] of short.toSorted((a, b) => a[0] - b[0])) {
      while (this.pieces[first].to <= from) first += 1;
      let last = first;
      while (this.pieces[last + 1]?.to <= to) last += 1;
      const own = this.pieces.slice(first, last + 1);
      const size = own.reduce((sum, piece) => sum + piece.size, 0);
      if (size < wanted) for (const piece of own) piece.size *= wanted / size;
    }
  }

  /** 0 to 1. */
  at(time) {
    if (!this.pieces.length) return 0;
    let low = 0;
    let high = this.pieces.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time <= this.pieces[middle].to) high = middle;
      else low = middle + 1;
    }
    const piece = this.pieces[low];
    const part = piece.to > piece.from ? Math.min(Math.max((time - piece.from) / (piece.to - piece.from), 0), 1) : 0;
    return (piece.place + part * piece.size) / this.total;
  }

  get idle() {
    return this.pieces.filter((piece) => piece.idle).map((piece) => ({ from: piece.place / this.total, to: (piece.place + piece.size) / this.total, seconds: (piece.to - piece.from) / 1000 }));
  }

  /** Moments worth a line. */
  ticks(most = 8) {
    const step = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800].find((one) => this.total / 1000 / one <= most) ?? 2_592_000;
    const found = [];
    for (const piece of this.pieces) {
      if (piece.idle) continue;
      for (let time = Math.ceil(piece.from / 1000 / step) * step * 1000; time <= piece.to && found.length < 60; time += step * 1000) {
        const place = this.at(time);
        if (!found.length || place - found.at(-1).place > 0.6 / most) found.push({ time, place });
      }
    }
    return found;
  }
}
