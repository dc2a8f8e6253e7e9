/** What the server tells, in order; begun again whenever it ends, after a while that grows. */

const FIRST_WAIT = 250;
const LONGEST_WAIT = 8_000;
const HELD = 10_000;
const MANY = 5;
const QUIET = 15_000;

export class Stream {
  /**
   * `change(change)`, `sessions(sessions)`; `stateIs("live" | "connecting" | "away")`; `again(look)` when it is to be opened again:
   * `look` if what is told is gone or refused, so that it has to be looked at first.
   */
  constructor(told) {
    this.told = told;
    this.source = null;
    this.timer = 0;
    this.failures = 0;
    this.since = Infinity;
    this.heardAt = 0;
  }

  open(path) {
    this.close();
    const source = new EventSource(path);
    this.source = source;
    const on = (kind, listener) =>
      source.addEventListener(kind, (event) => {
        if (source !== this.source) return;
        this.heardAt = performance.now();
        listener(event);
      });
    on("open", () => {
      this.since = performance.now();
      this.told.stateIs("live");
    });
    on("sessions", (event) => this.told.sessions(JSON.parse(event.data)));
    on("change", (event) => {
      this.failures = 0;
      this.told.change(JSON.parse(event.data));
    });
    on("gone", () => this.later(true));
    on("error", () => this.later(source.readyState === EventSource.CLOSED));
  }

  /** Ends it, and asks for it again: soon if it had held, else longer each time. */
  later(look) {
    if (performance.now() - this.since > HELD) this.failures = 0;
    this.close();
    this.told.stateIs(this.failures < MANY ? "connecting" : "away");
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

  /** Whether nothing came for a while: nothing happened, or it is cut off without a word. */
  get isQuiet() {
    return this.isOpen && performance.now() - this.heardAt > QUIET;
  }

  get isWaiting() {
    return this.timer !== 0;
  }

  close() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.source?.close();
    this.source = null;
    this.since = Infinity;
  }
}
