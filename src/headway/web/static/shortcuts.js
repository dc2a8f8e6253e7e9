/** Keys that work anywhere, except while something is typed; and the list of all keys. */

import { h, isTyping, keepFocus } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { route, VIEWS } from "./route.js";

const KEYS = [
  ["Anywhere", [
    [["n"], "New item"],
    [["/"], "Search the list (↓: go to the results) or the log"],
    [["u"], "Undo"],
    [["Shift", "u"], "Redo"],
    [["x"], "Execute all…"],
    [["m"], "Message to the agent…"],
    [["q"], "Go to the open question"],
    [["l"], "Go to the list"],
    [["1", "…", "5"], "List, Graph, Timeline, Plan, Log"],
    [["s"], "Go to the sessions"],
    [["?"], "Show these shortcuts"],
    [["Esc"], "Close the open panel"],
  ]],
  ["On an item of the list", [
    [["↑", "↓", "Home", "End"], "Move through the list"],
    [["Enter"], "Open it"],
    [["Space"], "Set its status"],
    [["e"], "Edit it"],
    [["Alt", "↑"], "Move it up"],
    [["Alt", "↓"], "Move it down"],
    [["Delete"], "Remove it (undo restores it)"],
  ]],
  ["While typing", [
    [["Enter"], "Add the item (Shift+Enter: a new line)"],
    [["Ctrl", "Enter"], "Save or send"],
  ]],
];

export function showKeys() {
  const content = KEYS.map(([title, keys]) =>
    h("section", { class: "keys" }, h("h3", {}, title), h("dl", {}, keys.map(([names, what]) => h("div", {}, h("dt", {}, names.map((name) => (name === "…" ? "… " : h("kbd", {}, name)))), h("dd", {}, what))))),
  );
  openDialog({ title: "Keyboard shortcuts", content, action: "", wide: true });
}

/** `actions` by key; a view by its number. */
export function mountShortcuts(actions, setView) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const view = VIEWS[Number(event.key) - 1];
    const key = /^[a-z]$/i.test(event.key) ? event.key[event.shiftKey ? "toUpperCase" : "toLowerCase"]() : event.key; // Caps Lock or not
    const act = view ? () => setView(view) : actions[key];
    if (!act) return;
    event.preventDefault();
    const focusTab = () => document.getElementById(`tab-${route.view}`).focus();
    keepFocus(document.getElementById("main"), act, focusTab);
    if (document.activeElement.closest("#tabs")) focusTab();
  });
}
