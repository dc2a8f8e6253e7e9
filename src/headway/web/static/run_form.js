/** How a run is wanted: mode, how many at once, and the rest. What was last chosen is remembered. */

import { h, said, setText } from "./dom.js";
import { field, select, tick } from "./dialogs.js";
import { lookAtProject, project } from "./project.js";
import { line } from "./text.js";
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
export const NO_MODEL = "No model is set. Set one with: headway model provider:name";

/** Which model there is; what else is set for the project is said where something else can be chosen. */
function asSet(mode, parallel) {
  const model = h("p", { class: "fact" });
  const tell = () => {
    if (!project) return;
    model.replaceChildren(...(project.model ? ["Model ", said(line(project.model, 120), "code")] : [NO_MODEL]));
    if (mode) setText(mode.options[0], `Project setting (${NAMES[project.mode] ?? line(project.mode ?? "default", 20)})`);
    if (parallel) parallel.placeholder = `${project.parallel ?? 1} (project setting)`;
  };
  tell();
  lookAtProject().then(tell);
  return model;
}

const modes = (chosen) => select("mode", [["", "Project setting"], ...Object.entries(MODES).map(([value, text]) => [value, `${text} (${NAMES[value]})`])], chosen);

/** The elements of the form, and what they say. */
export function runFields({ one = false } = {}) {
  const last = remembered();
  const mode = modes(last.mode ?? "");
  const parallel = h("input", { type: "number", name: "parallel", min: "1", max: "64", inputmode: "numeric", placeholder: "project setting" });
  parallel.value = last.parallel ?? "";
  const retries = h("input", { type: "number", name: "retries", min: "0", max: "100", inputmode: "numeric" });
  retries.value = last.retries ?? (one ? "0" : "1");
  const keepGoing = tick("Continue with items that do not depend on a failed one", "keep_going", last.keep_going);
  const inPlace = tick("Work in the project's own files, one item at a time", "in_place", last.in_place);
  const evidence = tick("Ask for evidence before accepting “done”", "require_evidence", last.require_evidence);
  const numbers = h("div", { class: "side-by-side" }, one ? null : field("Run in parallel", parallel), field("Retries", retries));
  const read = () => {
    const wanted = { retries: Number(retries.value) || 0, require_evidence: evidence.querySelector("input").checked, in_place: inPlace.querySelector("input").checked };
    if (mode.value) wanted.mode = mode.value;
    if (!one && parallel.value && !wanted.in_place) wanted.parallel = Number(parallel.value);
    if (!one) wanted.keep_going = keepGoing.querySelector("input").checked;
    remember({ ...last, ...wanted, parallel: one ? last.parallel : parallel.value, mode: mode.value, retries: one ? last.retries : retries.value });
    return wanted;
  };
  return { elements: [field("Approvals", mode), numbers, one ? null : keepGoing, inPlace, evidence, asSet(mode, parallel)].filter(Boolean), read };
}

/** The same for a message. */
export function messageFields() {
  const last = remembered();
  const mode = modes(last.mode ?? "");
  const read = () => {
    remember({ ...last, mode: mode.value });
    return mode.value ? { mode: mode.value } : {};
  };
  return { elements: [field("Approvals", mode), asSet(mode, null)], read };
}

function remember(chosen) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(chosen));
  } catch {
    // nothing is remembered then
  }
}
