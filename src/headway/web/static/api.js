/** Requests to the server, and their errors as one kind: `Problem`. */

import { forgetKey, tabKey } from "./tab_key.js";

export class Problem extends Error {
  constructor(message, { kind = "", status = 0, violations = [], items = [] } = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.violations = violations;
    /** Items that are in the way of what was wanted. */
    this.items = items;
  }

  /** Whether this tab has no key to the page. */
  get needsKey() {
    return this.status === 401;
  }

  /** Whether the same may soon go well. */
  get isPassing() {
    return this.kind === "network" || this.kind === "StoreBusy";
  }
}

export const NO_KEY = "This tab does not have the key to this page. Open the link that “headway web” printed in the terminal.";
const NO_ANSWER = "The server is not responding. If it was stopped, start it again with “headway web”; nothing on this page is lost.";
const ODD_NAME = "The page cannot open a session named “.” or “..”; choose another name.";
const PATIENCE = 30_000;

let keyLost = () => {};

/** `listener()` whenever the server says that this tab has no key. */
export function onKeyLost(listener) {
  keyLost = listener;
}

export function sessionPath(name, rest = "") {
  if (/^\.\.?$/.test(name)) throw new Problem(ODD_NAME, { status: 400 }); // in an address they mean another one
  return `/api/sessions/${encodeURIComponent(String(name).toWellFormed?.() ?? name)}${rest}`;
}

function answerOf(response, text) {
  let data = null;
  try {
    data = text ? JSON.parse(text) : {};
  } catch {
    // plain words: of the guard, or of something in between
  }
  if (response.ok && data !== null) return data;
  const error = data?.error;
  const message = error?.message ?? (text.slice(0, 300) || `The server answered ${response.status}.`);
  throw new Problem(message, { kind: error?.kind, status: response.status, violations: error?.violations, items: error?.items });
}

/** The response to a request as this tab; once more with a new key where the server was started again meanwhile. */
export async function send(path, given) {
  for (const isLast of [false, true]) {
    const key = await tabKey();
    const response = key && (await fetch(path, { credentials: "same-origin", cache: "no-store", ...given, headers: { ...given.headers, ...key.headers } }));
    if (response && response.status !== 401) return response;
    if (key && !isLast) forgetKey();
    else break;
  }
  keyLost();
  throw new Problem(NO_KEY, { kind: "key", status: 401 });
}

async function request(method, path, body, patience = PATIENCE) {
  const given = { method };
  if (method === "GET") given.signal = AbortSignal.timeout(patience);
  else {
    given.headers = { "content-type": "application/json" };
    given.body = body === undefined ? "" : JSON.stringify(body);
  }
  let response, text;
  try {
    response = await send(path, given);
    text = await response.text();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(NO_ANSWER, { kind: "network" });
  }
  return answerOf(response, text);
}

export const get = (path, patience) => request("GET", path, undefined, patience);
export const post = (path, body) => request("POST", path, body);
export const put = (path, body) => request("PUT", path, body);
export const remove = (path) => request("DELETE", path);
