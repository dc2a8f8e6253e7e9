/** What is typed and not sent yet, for each session; it outlives a reload of the tab. */

const key = (session) => `headway.draft ${session}`;

export function keptDraft(session) {
  try {
    return sessionStorage.getItem(key(session)) ?? "";
  } catch {
    return ""; // nothing is kept in this browser
  }
}

export function keepDraft(session, text) {
  try {
    if (text) sessionStorage.setItem(key(session), text);
    else sessionStorage.removeItem(key(session));
  } catch {
    // it is too long, or nothing is kept in this browser: it stays where it was typed
  }
}
