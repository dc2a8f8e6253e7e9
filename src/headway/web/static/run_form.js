/** How a run is wanted: mode, how many at once, and the rest. What was last chosen is remembered. */

import { h } from "./dom.js";
import { field, select, tick } from "./dialogs.js";
import { MODES } from "./words.js";

const KEY = "headway.run";

function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

const NAMES = { default: "default", auto_edit: "auto-edit", yolo: "yolo" };

/** The elements of the form, and what they say. */
export function runFields({ one = false } = {}) {
  const last = remembered();
  const mode = select("mode", [["", "As set for the project"], ...Object.entries(MODES).map(([value, text]) => [value, `${text} (${NAMES[value]})`])], last.mode ?? "");
  const parallel = h("input", { type: "number", name: "parallel", min: "1", max: "64", inputmode: "numeric", placeholder: "as set" });
  parallel.value = last.parallel ?? "";
  const retries = h("input", { type: "number", name: "retries", min: "0", max: "100", inputmode: "numeric" });
  retries.value = last.retries ?? (one ? "0" : "1");
  const keepGoing = tick("Go on with everything that does not depend on what failed", "keep_going", last.keep_going);
  const evidence = tick("Ask the model once to show what it calls done", "require_evidence", last.require_evidence);
  const numbers = h("div", { class: "side-by-side" }, one ? null : field("Items at once", parallel), field("Tries after a failure", retries));
  const read = () => {
    const wanted = { retries: Number(retries.value) || 0, require_evidence: evidence.querySelector("input").checked };
    if (mode.value) wanted.mode = mode.value;
    if (!one && parallel.value) wanted.parallel = Number(parallel.value);
    if (!one) wanted.keep_going = keepGoing.querySelector("input").checked;
    try {
      sessionStorage.setItem(KEY, JSON.stringify({ ...last, ...wanted, mode: mode.value, retries: one ? last.retries : retries.value }));
    } catch {
      // nothing is remembered then
    }
    return wanted;
  };
  return { elements: [field("How much you are asked", mode), numbers, one ? null : keepGoing, evidence].filter(Boolean), read };
}
