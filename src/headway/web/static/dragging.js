/** Reordering by dragging a row at its grip, with a mouse, a pen or a finger. Esc leaves everything as it was. */

import { store } from "./store.js";

const EDGE = 60;

/** `moved(id, position)` with the position, counted from 1, that the item is to have. */
export function mountDragging(list, moved) {
  const scroller = list.closest(".main");
  let drag = null;

  list.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".grip");
    if (!grip || event.button !== 0) return;
    event.preventDefault();
    const row = grip.closest("li");
    drag = { row, id: row.dataset.id, pointer: event.pointerId, over: null, below: false, x: event.clientX, y: event.clientY, frame: 0 };
    list.setPointerCapture(event.pointerId);
    row.classList.add("is-dragged");
    drag.frame = requestAnimationFrame(follow);
  });
  list.addEventListener("pointermove", (event) => {
    if (drag?.pointer === event.pointerId) Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
  });
  list.addEventListener("pointerup", (event) => {
    if (drag?.pointer !== event.pointerId) return;
    Object.assign(drag, { x: event.clientX, y: event.clientY });
    aim();
    end(true);
  });
  list.addEventListener("pointercancel", () => end(false));
  addEventListener("keydown", (event) => {
    if (!drag || event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end(false);
  }, true);

  /** Once per frame: where it would go, and the list scrolls where there is more of it. */
  function follow() {
    if (!drag) return;
    aim();
    const { top, bottom } = seen();
    const beyond = drag.y < top + EDGE ? drag.y - top - EDGE : Math.max(drag.y - bottom + EDGE, 0);
    if (drag.over) scroller.scrollTop += Math.min(Math.max(beyond, -EDGE), EDGE) / 4;
    drag.frame = requestAnimationFrame(follow);
  }

  /** Where rows can be seen: between the tabs and the form below the list. */
  function seen() {
    return { top: document.getElementById("tabs").getBoundingClientRect().bottom, bottom: list.parentElement.querySelector(".adding").getBoundingClientRect().top };
  }

  /** The row at the height of the pointer, or the nearest that is seen; none outside of this part of the page. */
  function aim() {
    const box = scroller.getBoundingClientRect();
    const isMeant = drag.moved && drag.x >= box.left && drag.x <= box.right && drag.y >= box.top && drag.y <= box.bottom;
    const rows = isMeant ? [...list.children].filter((row) => !row.hidden) : [];
    const { top, bottom } = seen();
    const y = Math.min(Math.max(drag.y, top), bottom);
    let low = 0;
    for (let high = rows.length - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if (rows[middle].getBoundingClientRect().bottom < y) low = middle + 1;
      else high = middle;
    }
    mark(rows[low] ?? null, y);
  }

  function mark(over, y) {
    const rect = over?.getBoundingClientRect();
    const below = Boolean(rect) && y > rect.top + rect.height / 2;
    if (over === drag.over && below === drag.below) return;
    drag.over?.classList.remove("drop-before", "drop-after");
    if (over && over !== drag.row) over.classList.add(below ? "drop-after" : "drop-before");
    Object.assign(drag, { over, below });
  }

  function end(isMeant) {
    if (!drag) return;
    const { row, id, over, below, frame, pointer } = drag;
    cancelAnimationFrame(frame);
    over?.classList.remove("drop-before", "drop-after");
    row.classList.remove("is-dragged");
    drag = null;
    if (list.hasPointerCapture(pointer)) list.releasePointerCapture(pointer);
    if (!isMeant || !over || over === row) return;
    const ids = [...store.session.items.keys()].filter((other) => other !== id);
    const place = ids.indexOf(over.dataset.id);
    if (place >= 0 && store.session.items.has(id)) moved(id, place + (below ? 2 : 1));
  }
}
