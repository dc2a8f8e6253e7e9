/** A unified diff as lines, each marked with what it is. */

import { h } from "./dom.js";
import { lines } from "./text.js";

const MOST = 300;

function kind(text) {
  if (/^(\+\+\+|---|diff |index )/.test(text)) return "file";
  if (text.startsWith("@@")) return "place";
  return { "+": "added", "-": "removed" }[text[0]] ?? "same";
}

export function diffBlock(text) {
  const all = lines(text).replace(/\n$/, "").split("\n");
  const block = h("pre", { class: "diff", tabindex: "0", "aria-label": "File changes" });
  const draw = (some) => some.map((one) => h("span", { class: `diff-${kind(one)}` }, `${one}\n`));
  block.append(...draw(all.slice(0, MOST)));
  if (all.length > MOST) {
    const more = h("button", { type: "button", class: "link" }, `Show ${all.length - MOST} more lines`);
    more.addEventListener("click", () => more.replaceWith(...draw(all.slice(MOST))));
    block.append(more);
  }
  return block;
}

/** A command as it is run. */
export function commandBlock(text) {
  return h("pre", { class: "command", tabindex: "0", "aria-label": "Command", dir: "ltr" }, lines(text));
}
