/** How a run is wanted: mode, how many at once, and the rest. What was last chosen is remembered, but for the mode. */

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

export const NO_MODEL = "No model is set. Set one with: headway model provider:name";

/** Which model there is; what else is set for the project is said where something else can be chosen. */
function asSet(parallel) {
  const model = h("p", { class: "fact" });
  const tell = () => {
    if (!project) return;
    model.replaceChildren(...(project.model ? ["Model ", said(line(project.model, 120), "code")] : [NO_MODEL]));
    if (parallel) parallel.placeholder = `${project.parallel ?? 1} (project setting)`;
  };
  tell();
  lookAtProject().then(tell);
  return model;
}

/** What is chosen is what the run gets. At first that is the project's setting, but never one that lets everything pass. */
function modes() {
  const element = select("mode", Object.keys(MODES).map((mode) => [mode, mode]), "default");
  let isChosen = false;
  element.addEventListener("input", () => (isChosen = true));
  const tell = () => {
    for (const option of element.options) setText(option, `${option.value}${option.value === project?.mode ? " (project setting)" : ""}: ${MODES[option.value].choice}`);
    if (!isChosen) element.value = Object.hasOwn(MODES, project?.mode) && project.mode !== "yolo" ? project.mode : "default";
  };
  tell();
  lookAtProject().then(tell);
  return element;
}

/** The elements of the form, and what they say. */
export function runFields({ one = false } = {}) {
  const last = remembered();
  const mode = modes();
  const parallel = h("input", { type: "number", name: "parallel", min: "1", max: "64", inputmode: "numeric", placeholder: "project setting" });
  parallel.value = last.parallel ?? "";
  const retries = h("input", { type: "number", name: "retries", min: "0", max: "100", inputmode: "numeric" });
  retries.value = last.retries ?? (one ? "0" : "1");
  const keepGoing = tick("Continue with items that do not depend on a failed one", "keep_going", last.keep_going);
  const inPlace = tick("Work in the project's own files, one item at a time", "in_place", last.in_place);
  const evidence = tick("Ask for evidence before accepting “done”", "require_evidence", last.require_evidence);
  const numbers = h("div", { class: "side-by-side" }, one ? null : field("Run in parallel", parallel), field("Retries", retries));
  const read = () => {
    const wanted = { mode: mode.value, retries: Number(retries.value) || 0, require_evidence: evidence.querySelector("input").checked, in_place: inPlace.querySelector("input").checked };
    if (!one && parallel.value && !wanted.in_place) wanted.parallel = Number(parallel.value);
    if (!one) wanted.keep_going = keepGoing.querySelector("input").checked;
    remember({ ...last, ...wanted, mode: undefined, parallel: one ? last.parallel : parallel.value, retries: one ? last.retries : retries.value });
    return wanted;
  };
  return { elements: [field("Approvals", mode), numbers, one ? null : keepGoing, inPlace, evidence, asSet(parallel)].filter(Boolean), read };
}

/** The same for a message. */
export function messageFields() {
  const mode = modes();
  return { elements: [field("Approvals", mode), asSet(null)], read: () => ({ mode: mode.value }) };
}

function remember(chosen) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(chosen));
  } catch {
    // nothing is remembered then
  }
}
