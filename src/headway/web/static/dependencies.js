/** What depends on what: who waits for whom, and what can be worked on. Pure. */

/** id → ids of items that depend on it. */
export function dependents(items) {
  const found = new Map();
  for (const todo of items.values()) {
    for (const id of todo.depends_on) {
      if (!found.has(id)) found.set(id, []);
      found.get(id).push(todo.id);
    }
  }
  return found;
}

/** Dependencies that are not completed. */
export function unmet(todo, items) {
  return todo.depends_on.filter((id) => items.get(id)?.status !== "completed");
}

export const isFinished = (todo) => todo.status === "completed" || todo.status === "cancelled";

/** Whether work on it can begin now. */
export function isReady(todo, items) {
  return todo.status === "pending" && unmet(todo, items).length === 0;
}
