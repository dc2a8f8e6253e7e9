/** Questions of a run that wait for a person: what is to be done, and the answer. What is typed outlives every update. */

import { answer, wholeQuestion } from "./actions.js";
import { arrange, h, keepFocus, said, setAttribute } from "./dom.js";
import { commandBlock, diffBlock } from "./diff.js";
import { announce, attempt, problemPlace, say } from "./feedback.js";
import { project } from "./project.js";
import { go } from "./route.js";
import { store } from "./store.js";
import { line } from "./text.js";

const SETTLE = 400; // milliseconds: a click that was meant for what was there before is not an answer
const blocks = new Map();
let section;

export function mountQuestions(element) {
  section = element;
}

const WHAT = { read: "wants to read", write: "wants to change files", execute: "wants to run a command", run: "wants to run a command", network: "wants to reach a host" };

const REPLIES = { once: "allowed once", always: "always allowed", offline: "allowed once, without the network", no: "denied" };

/** Whether it is about the checks of todos: an approval is remembered for the project. */
const isAboutChecks = (question) => question.tool === "check";

/** What “always” is good for. */
const covers = (question) => isAboutChecks(question) ? "all other checks in this run" : `all ${question.host ? `requests to ${line(question.host, 60)}` : `${line(question.tool, 60)} calls`} in this run`;

/** What would be done: all of it if the texts are exact. */
function contentOf(question) {
  return [
    question.command && question.line.startsWith("Run: ") ? null : said(question.line, "p", { class: "question-line" }),
    question.command ? commandBlock(question.command) : null,
    question.path && !question.line.includes(question.path) ? h("p", { class: "fact" }, "File ", said(question.path, "code")) : null,
    question.host ? h("p", { class: "fact" }, "Host ", said(question.host, "code")) : null,
    question.diff ? diffBlock(question.diff) : null,
  ].filter(Boolean);
}

/** Shows what would be done, and lets it be allowed only once all of it is shown. */
async function showExact(block, question) {
  const allow = (can) => {
    block.canAllow = can;
    for (const control of block.allowing) control.hidden = !can || !block.gone.hidden;
  };
  allow(question.exact);
  if (question.exact) return;
  block.note.hidden = false;
  block.note.textContent = "Loading all of it…";
  let why = "This page does not have all of what would be done, so it can only be declined here. To allow it, answer where the run was started.";
  try {
    const whole = await wholeQuestion(question.question_id);
    if (whole.exact) {
      block.content.replaceChildren(...contentOf(whole));
      block.note.hidden = true;
      settle(block);
      return allow(true);
    }
  } catch (error) {
    why = error.message;
  }
  const again = h("button", { type: "button", class: "link", on: { click: () => showExact(block, question) } }, "Try again");
  block.note.replaceChildren(`${line(why)} `, again);
}

function made(question, session) {
  const block = { session, isSent: false, canAllow: false };
  const problem = problemPlace();
  const reason = h("input", { type: "text", class: "reason", "aria-label": "Why not? (sent to the agent)", placeholder: "Why not? (sent to the agent)", dir: "auto", autocomplete: "off" });
  const reply = (text, value, title, hint = null) => {
    const control = h("button", { type: "button", title, class: value === "once" ? "primary" : "" }, text, hint && said(hint, "span", { class: "answer-hint soft" }));
    control.addEventListener("click", async () => {
      if (!store.isConnected) return;
      block.isSent = true;
      const done = await attempt(control, problem, () => answer({ question_id: question.question_id, agent: question.agent, reply: value, reason: value === "no" ? reason.value : "" }));
      block.isSent = Boolean(done);
      if (done && done.reply !== value) say(`Already answered: ${REPLIES[done.reply] ?? line(done.reply)}.`);
    });
    return control;
  };
  const item = question.item_id && h("button", { type: "button", class: "link", on: { click: () => go({ item: question.item_id }) } }, said(line(question.item_id, 60)));
  const content = h("div", { class: "question-content" }, ...contentOf(question));
  const note = h("p", { class: "fact", role: "status", hidden: true });
  const gone = h("p", { class: "gone", hidden: true });
  const waits = h("p", { class: "gone", hidden: true }, "The page is not connected to the server, so this cannot be answered now. Wait until it is live again.");
  const answers = h("div", { class: "answers" });
  const no = reply("No", "no", "Deny, and tell the agent why");
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) no.click();
  });
  const element = h(
    "article",
    { class: "question", "aria-label": `Question: ${line(question.line, 120)}` },
    h("h2", {}, said(question.tool, "code"), ` ${WHAT[question.effect] ?? `asks (${line(question.effect)})`}`, item ? h("span", { class: "question-item" }, " for ", item) : null),
    content,
    note,
    answers,
    waits,
    gone,
    problem,
  );
  const once = isAboutChecks(question) ? reply("Allow", "once", "These checks, now and whenever they are declared in this project") : reply("Allow once", "once", "Only this call");
  // Where commands turn out to run without a sandbox, this answer is a no.
  const offline = question.tool === "bash" && project?.sandbox ? [reply("Allow without network", "offline", "Only this call, and it cannot reach the network")] : [];
  const always = reply("Always allow ", "always", `This, and ${covers(question)}`, covers(question));
  answers.append(once, ...offline, always, h("span", { class: "refuse" }, no, reason));
  Object.assign(block, { element, answers, reason, gone, waits, content, note, allowing: [once, ...offline, always] });
  settle(block);
  showExact(block, question);
  return block;
}

const buttonsOf = (answers) => [...answers.querySelectorAll("button")];

/** For a moment it cannot be clicked; whoever goes there with keys means it. */
function settle(block) {
  const set = (isSettled) => {
    block.isSettled = isSettled;
    block.answers.classList.toggle("settling", !isSettled);
    block.answers.style.setProperty("pointer-events", isSettled ? "" : "none");
    enable(block);
  };
  set(false);
  block.answers.addEventListener("focusin", () => set(true), { once: true });
  setTimeout(() => set(true), SETTLE);
}

/** Nothing is answered that may not be asked any more. */
function enable(block) {
  const isReady = block.isSettled && store.isConnected;
  for (const control of buttonsOf(block.answers)) setAttribute(control, "aria-disabled", isReady ? null : "true");
  block.waits.hidden = store.isConnected;
}

/** It was answered elsewhere, or its run is over. What a person typed there stays until it is closed. */
function retire(key, block) {
  if (block.reason.value.trim() === "" || block.isSent) return close(key, block);
  if (!block.gone.hidden) return;
  block.gone.hidden = false;
  block.reason.readOnly = true;
  for (const control of buttonsOf(block.answers)) control.hidden = true;
  block.gone.replaceChildren("This was answered elsewhere, or its run has ended. ", h("button", { type: "button", class: "link", on: { click: () => close(key, block) } }, "Close"));
}

/** It is asked after all. */
function revive(block) {
  if (block.gone.hidden) return;
  block.gone.hidden = true;
  block.reason.readOnly = false;
  for (const control of buttonsOf(block.answers)) control.hidden = block.allowing.includes(control) && !block.canAllow;
}

/** The focus does not go to another question: a key that is on its way would answer it. */
function close(key, block) {
  const had = block.element.contains(document.activeElement);
  blocks.delete(key);
  block.element.remove();
  section.hidden = !section.childElementCount;
  if (had) document.getElementById("main").focus({ preventScroll: true });
}

/** Questions of a session that is not looked at stay as they are, unseen. */
export function updateQuestions(dirty) {
  if (dirty.connection) blocks.forEach(enable);
  if (!(dirty.whole || dirty.questions)) return;
  const session = store.session && `${store.session.name}\n${store.session.log}`;
  const asked = store.session?.questions ?? [];
  const keys = new Map(asked.map((question) => [`${session}\n${question.agent}\n${question.question_id}`, question]));
  for (const [key, block] of [...blocks]) {
    if (keys.has(key)) revive(block);
    else if (block.session === session) retire(key, block);
  }
  const fresh = [...keys].filter(([key]) => !blocks.has(key));
  for (const [key, question] of fresh) blocks.set(key, made(question, session));
  const shown = [...blocks.values()].filter((block) => block.session === session);
  const draw = () => arrange(section, shown.map((block) => block.element));
  keepFocus(section, draw, () => document.getElementById("main").focus({ preventScroll: true }));
  section.hidden = !shown.length;
  if (fresh.length) announce(`The agent needs an answer: ${line(fresh[0][1].line, 150)}. ${fresh.length > 1 ? `And ${fresh.length - 1} more.` : ""}`);
}

/** Puts the focus on the first question; false if there is none. */
export function focusQuestion() {
  const first = section.querySelector("button.primary:not([hidden])") ?? section.querySelector(".answers button:not([hidden])");
  first?.focus();
  return Boolean(first);
}
