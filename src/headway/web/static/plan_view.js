/** The plan: what is to be reached and in which steps; and how it becomes the list. */

import { Problem } from "./api.js";
import { clearPlan, planToTodos, setPlan, setPlanMode, undo } from "./actions.js";
import { h, longText, said, setAttribute } from "./dom.js";
import { field, openDialog } from "./dialogs.js";
import { attempt, problemPlace, say, showProblem } from "./feedback.js";
import { go } from "./route.js";
import { sameSession } from "./same_session.js";
import { store } from "./store.js";
import { count, line } from "./text.js";
import { kindOf, markOf } from "./words.js";

const EXAMPLE = {
  title: "The goal",
  overview: "The approach, in a few sentences.",
  steps: [
    { id: "step-1", description: "The first step" },
    { id: "step-2", description: "The next one", dependencies: ["step-1"] },
  ],
};

const parts = {};

export function mountPlan(element) {
  parts.body = h("div", { class: "plan" });
  parts.problem = problemPlace();
  const button = (name, act, title) => h("button", { type: "button", title, on: { click: (event) => act(event.currentTarget) } }, name);
  parts.use = button("Turn into list…", () => useIt(), "Replace the list with the steps of the plan");
  parts.write = button("Edit…", () => writeIt(), "Edit the plan as JSON");
  parts.remove = button("Remove", (control) => removeIt(control), "Remove the plan and keep the items");
  parts.mode = h("input", { type: "checkbox", role: "switch" });
  parts.mode.addEventListener("change", async () => {
    const on = parts.mode.checked;
    told = Infinity;
    told = (await attempt(parts.mode, parts.problem, () => setPlanMode(on)))?.version ?? 0;
    showMode();
  });
  const mode = h("label", { class: "tick", title: "The agent plans but changes nothing" }, parts.mode, h("span", {}, "Plan mode: the agent only plans"));
  element.append(h("div", { class: "view-head" }, h("div", { class: "acts" }, parts.use, parts.write, parts.remove), mode), parts.problem, parts.body);
}

/** The version from which on the session says what a person wanted, or what others made of it since. */
let told = 0;

function showMode() {
  if (store.session?.version >= told) parts.mode.checked = store.session.plan_mode;
}

function useIt() {
  const items = store.session.items.size;
  const work = async () => {
    const done = await planToTodos();
    go({ view: "list" });
    say("Replaced the list with the steps of the plan.", { name: "Undo", run: () => attempt(null, null, takeBack) });
    return done;
  };
  const takeBack = sameSession(undo);
  if (!items) return attempt(parts.use, parts.problem, work);
  return openDialog({
    title: "Turn the plan into the list",
    content: [h("p", {}, `The ${count(store.session.plan.steps.length, "step")} of the plan will replace the ${count(items, "item")} in the list. Undo restores ${items === 1 ? "it" : "them"}.`)],
    action: "Replace the list",
    work: sameSession(work),
  });
}

let editing = null;

function writeIt() {
  const text = h("textarea", { rows: "18", class: "code", spellcheck: "false", name: "plan" });
  text.value = JSON.stringify(store.session.plan ?? EXAMPLE, null, 2);
  const opened = openDialog({
    title: store.session.plan ? "Edit the plan" : "Write a plan",
    wide: true,
    content: [field("Plan as JSON", text, "title, overview and steps (id, description; module, dependencies, risks, estimatedTime, verify); risks, testingStrategy, estimatedDuration.")],
    action: "Save",
    work: sameSession(() => {
      const other = changedMeanwhile();
      if (other) throw other;
      return setPlan(parsed(text.value));
    }),
  });
  editing = { ...opened, name: store.session.name, base: JSON.stringify(store.session.plan) };
  opened.dialog.addEventListener("close", () => (editing = null));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem(`This is not valid JSON: ${error.message}.`);
  }
}

/** What to say, once, of a plan that is another one than the one that is being edited. */
function changedMeanwhile() {
  const { plan } = store.session;
  const now = JSON.stringify(plan);
  if (now === editing.base) return null;
  editing.base = now;
  editing.doIt.textContent = plan ? "Overwrite" : "Save";
  const what = plan ? `Someone else changed the plan: it is now “${line(plan.title, 100)}” with ${count(plan.steps.length, "step")}` : "Someone else removed the plan";
  return new Problem(`${what}. What you typed is not saved; save again to make it the plan anyway.`);
}

function removeIt(control) {
  const before = store.session.plan;
  const bringBack = sameSession(() => {
    if (store.session.plan) throw new Problem("There is a new plan now.");
    return setPlan(before);
  });
  return attempt(control, parts.problem, clearPlan).then((done) => done && say("Removed the plan.", { name: "Restore", run: () => attempt(null, null, bringBack) }));
}

function texts(name, list) {
  return list?.length ? h("section", {}, h("h3", {}, name), h("ul", { class: "plain-list" }, list.map((text) => h("li", {}, longText(text, {}, "span"))))) : null;
}

function step(one) {
  const todo = store.session.items.get(one.id);
  const about = [
    one.module ? said(one.module, "span", { class: "about-module" }) : null,
    one.estimatedTime ? h("span", {}, "about ", said(one.estimatedTime)) : null,
    one.verify ? h("span", {}, "check: ", said(line(one.verify, 300), "code")) : null,
    one.dependencies?.length ? h("span", {}, "after ", one.dependencies.flatMap((id, index) => [index ? ", " : "", said(line(id, 60), "span", { class: "about-id" })])) : null,
  ].filter(Boolean);
  return h(
    "li",
    { class: todo ? `step k-${kindOf(todo)}` : "step k-quiet", data: { id: one.id } },
    h("span", { class: "mark", "aria-hidden": "true" }, todo ? markOf(todo) : ""),
    h("div", {},
      longText(one.description, { class: "content" }),
      h("p", { class: "meta" }, todo ? h("button", { type: "button", class: "link about-id", on: { click: () => go({ item: one.id }) } }, said(line(one.id, 60))) : said(line(one.id, 60), "span", { class: "about-id" }), ...about),
      one.risks?.length ? h("ul", { class: "risks" }, one.risks.map((risk) => h("li", {}, "Risk: ", said(risk)))) : null,
    ),
  );
}

export function updatePlan(dirty) {
  const session = store.session;
  if (!session) return;
  if (editing?.name === session.name && (dirty.whole || dirty.plan)) warn();
  if (dirty.whole) told = 0;
  showMode();
  if (dirty.whole || dirty.plan || dirty.order || dirty.shown) draw(session);
  else if (session.plan) for (const id of dirty.items) redraw(id);
}

function warn() {
  const other = changedMeanwhile();
  if (other && editing.doIt.getAttribute("aria-busy") !== "true") showProblem(editing.problem, other);
}

/** The mark of one step. */
function redraw(id) {
  const one = session_step(id);
  const old = one && [...parts.body.querySelectorAll(".step")].find((element) => element.dataset.id === id);
  const todo = store.session.items.get(id);
  if (!old || !todo) return;
  setAttribute(old, "class", `step k-${kindOf(todo)}`);
  old.querySelector(".mark").textContent = markOf(todo);
}

const session_step = (id) => store.session.plan.steps.find((one) => one.id === id);

function draw({ plan }) {
  parts.use.hidden = parts.remove.hidden = !plan;
  parts.write.textContent = plan ? "Edit…" : "Write a plan…";
  if (!plan) {
    parts.body.replaceChildren(h("p", { class: "empty" }, "No plan yet. Write one here, or have the agent make one in plan mode: ", h("code", {}, "headway --plan"), "."));
    return;
  }
  parts.body.replaceChildren(
    ...[
      said(plan.title, "h2", { class: "plan-title" }),
      longText(plan.overview, { class: "overview" }, "p"),
      plan.estimatedDuration ? h("p", { class: "soft" }, "About ", said(plan.estimatedDuration)) : null,
      h("ol", { class: "steps" }, plan.steps.map(step)),
      texts("Risks", plan.risks),
      plan.testingStrategy ? h("section", {}, h("h3", {}, "Testing"), longText(plan.testingStrategy, {}, "p")) : null,
    ].filter(Boolean),
  );
}
