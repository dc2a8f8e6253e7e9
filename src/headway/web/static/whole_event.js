/** Events of which only the beginning of a long text was sent: all of it on demand. */

import { get, sessionPath } from "./api.js";
import { h } from "./dom.js";
import { attempt, problemPlace } from "./feedback.js";

export const isCut = (event) => Boolean(event?.cut?.length);

export async function wholeEvent(event) {
  const [whole] = await get(sessionPath(event.session_id, `/events?after=${event.version - 1}&limit=1&whole=1`));
  return whole;
}

/** A button that fetches the rest of an event and has it shown; null if all of it is there. */
export function showAll(event, show) {
  if (!isCut(event)) return null;
  const problem = problemPlace();
  const button = h("button", { type: "button", class: "link", on: { click: () => attempt(button, problem, async () => show(await wholeEvent(event))) } }, "Show all");
  return h("div", {}, button, problem);
}
