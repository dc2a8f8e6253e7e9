/** Text from outside, made safe to look at: nothing in it is obeyed, nothing in it is hidden. */

const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

const NAMES = "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

function named(character) {
  const code = character.codePointAt(0);
  const name = NAMES[code] ?? (code === 0x7f ? "DEL" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`);
  return `\u27e8${name}\u27e9`;
}

/** Joiners belong between emoji and in some scripts; after a plain letter, or one after another, they only hide. */
const JOINERS = /(?<=[!-~\u200c\u200d])[\u200c\u200d]/g;
/** More marks on one letter than any script puts there: they would be drawn over what is around. */
const HEAPED = /(\p{M}{5})(\p{M}+)/gu;

/** The text with its lines and tabs; control, direction and invisible characters by their names. */
export function lines(text) {
  const whole = String(text ?? "").replaceAll("\r\n", "\n").replace(JOINERS, named).replace(UNSEEN, named);
  return whole.replace(HEAPED, (_, some, rest) => `${some}\u27e8+${[...rest].length} marks\u27e9`);
}

/** At most so much of a text; no character is cut in two. */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  const isWithin = /[\ud800-\udbff]/.test(text[limit - 1]) && /[\udc00-\udfff]/.test(text[limit]);
  return text.slice(0, isWithin ? limit - 1 : limit);
}

/** The text on one line. */
export function line(text, limit = Infinity) {
  const whole = String(text ?? "");
  const part = cut(whole, limit);
  return lines(part.replace(/\s*[\r\n\t\v\f]+\s*/g, " ")) + (part.length < whole.length ? "…" : "");
}

/** `1 item`, `2,000 items`. */
export function count(number, what) {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}
