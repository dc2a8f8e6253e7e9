/** What the server tells, in order; begun again whenever it ends, or falls silent, after a while that grows. */

import { send } from "./api.js";
import { forgetKey } from "./tab_key.js";

const FIRST_WAIT = 250;
const LONGEST_WAIT = 8_000;
const HELD = 10_000;
const MANY = 5;
const SILENCE = 12_000; // the server gives a sign of life every few seconds
const END = /\r?\n\r?\n/g;

/** Each whole event, {kind, data}, and signs of life, as null. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield null;
    END.lastIndex = Math.max(text.length - 3, 0);
    text += value;
    let from = 0;
    for (let end; (end = END.exec(text)); from = END.lastIndex) {
      const fields = Object.fromEntries(text.slice(from, end.index).split(/\r?\n/).map((line) => /^(\w*):? ?(.*)$/s.exec(line)?.slice(1) ?? []));
      if (fields.data) yield { kind: fields.event, data: fields.data };
    }
    text = text.slice(from);
  }
}

export class Stream {
  /**
   * `change(change)`, `sessions(sessions)`; `stateIs("live" | "connecting" | "away")`; `again(look)` when it is to be opened again:
   * `look` if what is told is gone or refused, so that it has to be looked at first.
   */
  constructor(told) {
    this.told = told;
    this.source = null;
    this.timer = 0;
    this.watch = 0;
    this.failures = 0;
    this.since = Infinity;
    this.heardAt = 0;
    this.fellSilent = false;
  }

  open(path) {
    this.close();
    this.source = new AbortController();
    this.heardAt = performance.now();
    this.watch = setInterval(() => this.listen(), 1_000);
    this.read(path, this.source);
  }

  async read(path, source) {
    let look = false;
    try {
      const response = await send(path, { signal: source.signal, headers: { accept: "text/event-stream" } });
      look = !response.ok;
      if (response.ok && source === this.source) this.begin();
      for await (const event of response.ok ? eventsOf(response) : []) {
        if (source !== this.source) return;
        this.heardAt = performance.now();
        if (event) this.hear(event);
      }
    } catch (error) {
      if (error.needsKey) return; // whoever opened it knows
    }
    if (source === this.source) this.later(look);
  }

  begin() {
    this.since = performance.now();
    this.fellSilent = false;
    this.told.stateIs("live");
  }

  hear({ kind, data }) {
    if (kind === "sessions") this.told.sessions(JSON.parse(data));
    else if (kind === "gone") this.later(true);
    else if (kind === "change") {
      this.failures = 0;
      this.told.change(JSON.parse(data));
    }
  }

  /** Gives it up when nothing came for too long: the server hangs, or the line is cut off without a word. */
  listen() {
    if (performance.now() - this.heardAt < SILENCE) return;
    this.fellSilent = true;
    this.later(true);
  }

  /** Ends it, and asks for it again: soon if it had held, else longer each time. */
  later(look) {
    if (performance.now() - this.since > HELD) this.failures = 0;
    this.close();
    forgetKey();
    this.told.stateIs(this.failures < MANY && !this.fellSilent ? "connecting" : "away");
    const wait = Math.min(FIRST_WAIT * 2 ** this.failures, LONGEST_WAIT);
    this.failures += 1;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.told.again(look);
    }, wait);
  }

  get isOpen() {
    return this.source !== null;
  }

  get isWaiting() {
    return this.timer !== 0;
  }

  close() {
    clearTimeout(this.timer);
    clearInterval(this.watch);
    this.timer = 0;
    this.source?.abort();
    this.source = null;
    this.since = Infinity;
  }
}
