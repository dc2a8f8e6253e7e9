/** Moments and durations as people read them, in the time of their machine. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const WHOLE = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

/** Milliseconds, NaN for what is no moment. */
export function at(iso) {
  return iso ? Date.parse(iso) : NaN;
}

/** `14:03:27`. */
export function clock(iso) {
  const time = typeof iso === "number" ? iso : at(iso);
  return Number.isNaN(time) ? "" : CLOCK.format(time);
}

/** `14:03:27`, on another day than today `3 Jan 14:03`. */
export function moment(iso) {
  const time = at(iso);
  if (Number.isNaN(time)) return "";
  const today = new Date().toDateString() === new Date(time).toDateString();
  return today ? CLOCK.format(time) : `${DAY.format(time)} ${CLOCK.format(time).slice(0, 5)}`;
}

/** In full, for a title. */
export function inFull(iso) {
  const time = at(iso);
  return Number.isNaN(time) ? "" : WHOLE.format(time);
}

/** `4.2 s`, `2m 31s`, `3h 05m`, `2d 4h`. */
export function lasted(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, "0")}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 2880) return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, "0")}m`;
  return `${Math.floor(minutes / 1440)}d ${Math.floor((minutes % 1440) / 60)}h`;
}

/** The same for what goes on, in whole seconds. */
export function since(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : lasted(seconds);
}

/** How long an item took, or takes until now; empty if it has not begun. */
export function itemLasted(todo, now = Date.now()) {
  const start = at(todo.started_at);
  if (Number.isNaN(start)) return "";
  if (!todo.completed_at) return todo.status === "in_progress" ? since(now - start) : "";
  return lasted(Math.max(at(todo.completed_at) - start, 0) / 1000);
}

/** How long since: `now`, `5 min`, `3 h`, `Jan 2`. */
export function ago(iso, now = Date.now()) {
  const seconds = (now - at(iso)) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return DAY.format(at(iso));
}
