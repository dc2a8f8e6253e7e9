/** Reordering by dragging a row at its grip, with a mouse, a pen or a finger. Esc leaves everything as it was. */

import { store } from "./store.js";

const EDGE = 60;

/** `moved(id, position)` with the position, counted from 1, that the item is to have. */
export function mountDragging(list, moved) {
  let drag = null;

  list.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".grip");
    if (!grip || event.button !== 0) return;
    event.preventDefault();
    const row = grip.closest("li");
    drag = { row, id: row.dataset.id, pointer: event.pointerId, over: null, below: false, y: event.clientY, frame: 0 };
    list.setPointerCapture(event.pointerId);
    row.classList.add("is-dragged");
    drag.frame = requestAnimationFrame(follow);
  });
  list.addEventListener("pointermove", (event) => {
    if (drag?.pointer === event.pointerId) Object.assign(drag, { y: event.clientY, moved: true });
  });
  list.addEventListener("pointerup", (event) => drag?.pointer === event.pointerId && end(true));
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
    const scroller = list.closest(".main");
    const box = scroller.getBoundingClientRect();
    const beyond = drag.y < box.top + EDGE ? drag.y - box.top - EDGE : Math.max(drag.y - box.bottom + EDGE, 0);
    if (beyond && drag.moved) scroller.scrollTop += beyond / 4;
    const middle = list.getBoundingClientRect();
    const at = document.elementFromPoint(middle.left + middle.width / 2, Math.min(Math.max(drag.y, middle.top + 1), middle.bottom - 1));
    const over = at?.closest("li.stop");
    mark(over && list.contains(over) && drag.moved ? over : null);
    drag.frame = requestAnimationFrame(follow);
  }

  function mark(over) {
    const rect = over?.getBoundingClientRect();
    const below = Boolean(rect) && drag.y > rect.top + rect.height / 2;
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
    if (place >= 0) moved(id, place + (below ? 2 : 1));
  }
}
