/** Requests to the server, and their errors as one kind: `Problem`. */

export class Problem extends Error {
  constructor(message, { kind = "", status = 0, violations = [] } = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.violations = violations;
  }

  /** Whether this browser has no key to the page. */
  get needsKey() {
    return this.status === 401;
  }
}

export const NO_KEY = "This browser has no key to this page. Open the link that “headway web” printed in the terminal.";
const NO_ANSWER = "The server does not answer. If it was stopped, start it again with “headway web”; nothing here is lost.";

export function sessionPath(name, rest = "") {
  return `/api/sessions/${encodeURIComponent(String(name).toWellFormed?.() ?? name)}${rest}`;
}

async function answerOf(response) {
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : {};
  } catch {
    // plain words: of the guard, or of something in between
  }
  if (response.ok && data !== null) return data;
  if (response.status === 401) throw new Problem(NO_KEY, { kind: "key", status: 401 });
  const error = data?.error;
  const message = error?.message ?? (text.slice(0, 300) || `The server answered ${response.status}.`);
  throw new Problem(message, { kind: error?.kind, status: response.status, violations: error?.violations });
}

async function request(method, path, body) {
  const given = { method, credentials: "same-origin", cache: "no-store" };
  if (method !== "GET") {
    given.headers = { "content-type": "application/json" };
    given.body = body === undefined ? "" : JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, given);
  } catch {
    throw new Problem(NO_ANSWER, { kind: "network" });
  }
  return answerOf(response);
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);
export const put = (path, body) => request("PUT", path, body);
export const remove = (path) => request("DELETE", path);
