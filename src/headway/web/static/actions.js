/** What a person does: each as one request for the session that is looked at. */

import { get, post, put, remove, sessionPath } from "./api.js";
import { store } from "./store.js";
import { signedLink } from "./tab_key.js";

const path = (rest) => sessionPath(store.session.name, rest);
const change = (body) => post(path("/changes"), body);
const run = (body) => post(path("/run"), body);

export const add = (content, fields = {}, session = store.session.name) => post(sessionPath(session, "/changes"), { kind: "add", content, ...fields });
export const edit = (id, fields) => change({ kind: "edit", id, ...fields });
export const move = (id, position) => change({ kind: "move", id, position });
export const drop = (id) => change({ kind: "drop", id });
export const clear = () => change({ kind: "clear" });
export const undo = () => change({ kind: "undo" });
export const redo = () => change({ kind: "redo" });
export const planToTodos = () => change({ kind: "plan_to_todos" });
export const setPlanMode = (on) => change({ kind: "plan_mode", on });
export const setPlan = (plan) => put(path("/plan"), plan);
export const clearPlan = () => remove(path("/plan"));
export const execute = (wanted) => run({ action: "execute", ...wanted });
export const message = (wanted) => run({ action: "message", ...wanted });
export const proceed = () => run({ action: "continue" });
export const control = (action) => run({ action });
export const rollBack = (id, withLater = false) => run({ action: "rollback", id, with_later: withLater });
export const answer = (given) => post(path("/answers"), given);
export const wholeQuestion = (id) => get(path(`/questions/${encodeURIComponent(id)}`));
export const makeCurrent = (name) => post(sessionPath(name, "/current"), {});
export const begin = (name, content) => post(sessionPath(name, "/changes"), { kind: "begin", content });
export const reportLink = (name) => signedLink(sessionPath(name, "/report"), "format=html");
