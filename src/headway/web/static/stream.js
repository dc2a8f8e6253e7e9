/** The stream of one session: what is told, in order; connected again whenever it was cut off. */

import { sessionPath } from "./api.js";

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;

export class Stream {
  /** `heard(change)`, `gone()`, `stateIs("live" | "connecting")`, `refused()` when the server will not have us. */
  constructor({ heard, gone, stateIs, refused }) {
    this.told = { heard, gone, stateIs, refused };
    this.source = null;
    this.wait = FIRST_WAIT;
    this.timer = 0;
  }

  open(name, after) {
    this.close();
    this.name = name;
    const source = new EventSource(sessionPath(name, `/stream?after=${after}`));
    this.source = source;
    source.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.told.stateIs("live");
    });
    source.addEventListener("change", (event) => this.told.heard(JSON.parse(event.data)));
    source.addEventListener("gone", () => {
      this.close();
      this.told.gone();
    });
    source.addEventListener("error", () => {
      if (source !== this.source) return;
      this.told.stateIs("connecting");
      if (source.readyState === EventSource.CLOSED) this.later(); // else the browser tries again by itself
    });
  }

  /** Tries again after a while, longer each time. */
  later() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    const name = this.name;
    this.timer = setTimeout(() => name === this.name && this.told.refused(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  get isOpen() {
    return this.source !== null;
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.name = null;
  }
}
