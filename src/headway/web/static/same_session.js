/** What was begun in one session is not done in another that is looked at meanwhile (the back button works in a dialog). */

import { Problem } from "./api.js";
import { store } from "./store.js";
import { line } from "./text.js";

/** The work, refused once another session is looked at. */
export function sameSession(work) {
  const { name } = store.session;
  return (...given) => {
    if (store.session?.name !== name) throw new Problem(`This belongs to the session “${line(name, 60)}”; go back to it first.`);
    return work(...given);
  };
}
