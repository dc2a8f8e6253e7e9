/**
 * What this tab shows the server. A tab is let in with a secret, in its address; it keeps it for itself, and over restarts of the server.
 * Whoever answers first proves to know it: another server at this address, or another project's, is told nothing. The key made from
 * it is good for one start of the server.
 */

const KEPT = "headway.tab";
const OTHERS_ANSWER = 500; // milliseconds

/** {name, secret}; null if the tab was not let in. */
let tab = null;
/** The key that is used, or being made: a promise. */
let making = null;

const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function sign(secret, ...words) {
  const key = await crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return hex(await crypto.subtle.sign("HMAC", key, bytes(words.join("\n"))));
}

function keep(given) {
  tab = given;
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(given));
  } catch {
    // nothing is kept in this browser: it is good until the tab is loaded again
  }
}

function find() {
  const [, name, secret] = /^#tab=([\w-]+)\.([\w-]+)$/.exec(location.hash) ?? [];
  if (name) {
    history.replaceState(null, "", location.pathname);
    return keep({ name, secret });
  }
  try {
    tab = JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    tab = null;
  }
}

// tabs of one browser let each other in: no other port hears this channel

const channel = new BroadcastChannel(KEPT);
let gotFromOthers = () => {};

channel.addEventListener("message", ({ data }) => {
  if (data.tab && !tab) {
    keep(data.tab);
    gotFromOthers();
  } else if (data.asks && making) making.then(() => channel.postMessage({ tab }), () => {});
});

function askOthers() {
  return new Promise((answered) => {
    gotFromOthers = answered;
    channel.postMessage({ asks: true });
    setTimeout(answered, OTHERS_ANSWER);
  });
}

/** The headers by which the server knows this tab; null if it does not, or if it is another server. Throws where none answers. */
async function enter(signal) {
  if (!tab) await askOthers();
  if (!tab) return null;
  const { name, secret } = tab;
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const asked = await fetch(`/api/entry?tab=${name}&nonce=${nonce}`, { cache: "no-store", signal });
  const { start, proof } = await asked.json();
  if (proof !== (await sign(secret, "server", location.port || "80", nonce, start))) return null;
  const key = await sign(secret, "key", start);
  const headers = { authorization: `Tab ${name}.${key}` };
  const entered = await fetch("/api/entry", { method: "POST", headers: { ...headers, "content-type": "application/json" }, signal });
  return entered.ok ? { name, key, headers } : null;
}

const PATIENCE = 10_000;

/** {name, key, headers} of this start of the server; null if it does not let this tab in. */
export function tabKey() {
  const made = (making ??= enter(AbortSignal.timeout(PATIENCE)));
  made.then(
    (key) => key ?? forgetKey(made),
    () => forgetKey(made),
  );
  return made;
}

/** The server may have been started again: it is asked anew. */
export function forgetKey(made = making) {
  if (making === made) making = null;
}

/** A link to what this tab may see, for a tab that opens with nothing but an address. */
export async function signedLink(path, query) {
  const key = await tabKey();
  return key && `${path}?${query}&tab=${key.name}&signature=${await sign(key.key, path)}`;
}

find();
