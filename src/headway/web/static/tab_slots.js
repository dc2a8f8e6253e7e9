/** Browsers keep only six connections to one server: so only some tabs have a stream, those that are looked at first. */

const SLOTS = 4;
const FOR_HIDDEN = 2;

let held = null;
let onLost = () => {};

function ask(slot, options) {
  return new Promise((known) => {
    let own = null;
    const hold = (lock) => {
      known(lock !== null);
      return lock && new Promise((release) => (held = own = { slot, release }));
    };
    navigator.locks.request(`headway.stream.${slot}`, options, hold).catch(() => {
      known(false);
      if (own && held === own) {
        held = null; // another tab is looked at now
        onLost();
      }
    });
  });
}

async function free(slots) {
  for (const slot of slots) if (await ask(slot, { ifAvailable: true })) return true;
  return false;
}

async function take(mayRob) {
  const all = [...Array(SLOTS).keys()].reverse();
  if (await free(document.hidden ? all.slice(-FOR_HIDDEN) : all)) return true;
  return mayRob && !document.hidden && ask(Math.floor(Math.random() * FOR_HIDDEN), { steal: true });
}

let taking = Promise.resolve(false);

/** Whether this tab may have a stream. `mayRob`: one that is looked at takes a slot away from another if it must. */
export function takeSlot(mayRob) {
  if (!navigator.locks) return Promise.resolve(true);
  taking = taking.then(() => held !== null || take(mayRob)); // one after the other, else it would hold two
  return taking;
}

/** `lost()` when the stream is to end, `wanted()` when there is to be one again. */
export function shareSlots({ lost, wanted }) {
  onLost = lost;
  document.addEventListener("visibilitychange", async () => {
    if (!document.hidden) return wanted();
    const before = held;
    if (!before || before.slot < FOR_HIDDEN) return;
    const has = await free([...Array(FOR_HIDDEN).keys()]);
    if (!has && !document.hidden) return; // looked at again meanwhile
    if (!has) held = null;
    before.release();
    if (!has) lost();
  });
  addEventListener("focus", wanted);
}
