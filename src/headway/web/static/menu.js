/** A small menu at an element: one choice of several, by mouse or keys; focus goes back to where it was. */

import { focusOr, h } from "./dom.js";

let open = null;

function closeMenu({ refocus = true } = {}) {
  if (!open) return;
  const { element, from, anchor } = open;
  open = null;
  element.remove();
  if (refocus) focusOr(from, anchor);
}

/** `choices`: {name, mark, kind, value, chosen}; `chosen(value)` when one is taken. */
export function openMenu(anchor, label, choices, chosen, from = document.activeElement) {
  closeMenu({ refocus: false });
  const items = choices.map((choice) =>
    h(
      "button",
      { type: "button", role: "menuitemradio", "aria-checked": String(Boolean(choice.chosen)), tabindex: "-1", class: `k-${choice.kind ?? "quiet"}` },
      h("span", { class: "menu-mark", "aria-hidden": "true" }, choice.mark ?? ""),
      choice.name,
    ),
  );
  const element = h("div", { class: "menu", role: "menu", "aria-label": label }, ...items);
  items.forEach((item, index) =>
    item.addEventListener("click", () => {
      closeMenu();
      chosen(choices[index].value);
    }),
  );
  element.addEventListener("keydown", (event) => onKey(event, items));
  element.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !element.contains(event.relatedTarget)) closeMenu({ refocus: false });
  });
  document.body.append(element);
  place(element, anchor.getBoundingClientRect());
  open = { element, from, anchor };
  (items[choices.findIndex((choice) => choice.chosen)] ?? items[0]).focus();
}

function place(element, box) {
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
  const below = box.bottom + 4 + height <= innerHeight;
  element.style.setProperty("left", `${left}px`);
  element.style.setProperty("top", `${below ? box.bottom + 4 : Math.max(8, box.top - height - 4)}px`);
}

function onKey(event, items) {
  const here = items.indexOf(document.activeElement);
  const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) items[(to + items.length) % items.length].focus();
  else if (event.key === "Escape" || event.key === "Tab") closeMenu();
  else if (event.key.length === 1 && /\S/.test(event.key)) {
    items.find((item) => item.textContent.trim().replace(/^\W+/, "").toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  } else return;
  if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  event.stopPropagation();
}

addEventListener("pointerdown", (event) => open && !open.element.contains(event.target) && closeMenu({ refocus: false }), true);
addEventListener("resize", () => closeMenu({ refocus: false }));
