/** What is typed and not sent yet, for each session; it outlives a reload of the tab, where the browser keeps it. */

const key = (session) => `headway.draft ${session}`;
const typed = new Map();

export function keptDraft(session) {
  if (typed.has(session)) return typed.get(session);
  try {
    return sessionStorage.getItem(key(session)) ?? "";
  } catch {
    return ""; // nothing is kept in this browser
  }
}

export function keepDraft(session, text) {
  typed.set(session, text);
  try {
    sessionStorage.removeItem(key(session));
    if (text) sessionStorage.setItem(key(session), text);
  } catch {
    // it is too long, or nothing is kept in this browser: it outlives all but a reload
  }
}
