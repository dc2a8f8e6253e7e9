/** What depends on what: who waits for whom, the longest chain, and items in layers. Pure. */

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

/** Ids in an order in which each comes after what it depends on; those in a circle are left out. */
export function inOrder(items) {
  const left = new Map();
  const after = dependents(items);
  for (const todo of items.values()) left.set(todo.id, new Set(todo.depends_on.filter((id) => items.has(id))).size);
  const ready = [...items.keys()].filter((id) => left.get(id) === 0);
  for (let index = 0; index < ready.length; index += 1) {
    for (const id of new Set(after.get(ready[index]) ?? [])) {
      if (!left.has(id)) continue;
      left.set(id, left.get(id) - 1);
      if (left.get(id) === 0) ready.push(id);
    }
  }
  return ready;
}

/** The longest chain of items that are still to be done; of all, if none is. */
export function criticalPath(items) {
  const open = [...items.values()].some((todo) => !isFinished(todo));
  const weight = (id) => (open && isFinished(items.get(id)) ? 0 : 1);
  const total = new Map();
  const before = new Map();
  for (const id of inOrder(items)) {
    let longest = null;
    for (const other of items.get(id).depends_on) {
      if (total.has(other) && (longest === null || total.get(other) > total.get(longest))) longest = other;
    }
    before.set(id, longest);
    total.set(id, weight(id) + (longest === null ? 0 : total.get(longest)));
  }
  let last = null;
  for (const [id, sum] of total) if (last === null || sum > total.get(last)) last = id;
  const path = [];
  for (; last !== null; last = before.get(last)) if (weight(last)) path.unshift(last);
  return path;
}

/** At most so many items: the chosen one, those being worked on and the critical path with what is around them, then the rest. */
export function neighbourhood(items, critical, chosen, most) {
  const after = dependents(items);
  const joined = [...items.values()].filter((todo) => todo.depends_on.some((id) => items.has(id)) || after.has(todo.id));
  if (joined.length <= most) return { ids: joined.map((todo) => todo.id), left: 0, alone: items.size - joined.length };
  const picked = new Set();
  const take = (id) => items.has(id) && picked.size < most && picked.add(id);
  const around = (id) => [...(items.get(id)?.depends_on ?? []), ...(after.get(id) ?? [])];
  const active = joined.filter((todo) => todo.status === "in_progress").map((todo) => todo.id);
  const centre = [...(chosen ? [chosen] : []), ...active.slice(0, most / 4), ...critical.slice(0, most / 2)];
  for (const id of centre) take(id);
  const queue = [...picked];
  for (let index = 0; index < queue.length && picked.size < most; index += 1) {
    const open = (id) => (items.has(id) && !isFinished(items.get(id)) ? 0 : 1);
    for (const id of around(queue[index]).toSorted((one, other) => open(one) - open(other))) if (!picked.has(id) && take(id)) queue.push(id);
  }
  for (const todo of joined) take(todo.id);
  const ids = [...items.keys()].filter((id) => picked.has(id));
  return { ids, left: joined.length - ids.length, alone: items.size - joined.length };
}

/**
 * Each item to the right of all it depends on, in an order with few crossings: `places` has id → {layer, row}, `ways`
 * has, for each dependency, the places that its line goes through; a long one has a place in each layer on its way.
 */
export function layers(ids, items) {
  const drawn = new Map(ids.map((id) => [id, items.get(id)]));
  const order = inOrder(drawn);
  const known = new Set(order);
  const layerOf = new Map();
  for (const id of [...order, ...ids.filter((one) => !known.has(one))]) {
    const needs = drawn.get(id).depends_on.filter((other) => layerOf.has(other));
    layerOf.set(id, needs.length ? 1 + Math.max(...needs.map((other) => layerOf.get(other))) : 0);
  }
  const rows = [];
  const near = new Map();
  const put = (node, layer) => {
    (rows[layer] ??= []).push(node);
    near.set(node, { before: [], after: [] });
  };
  for (const id of ids) put(id, layerOf.get(id));
  const ways = [];
  for (const id of ids) {
    for (const from of new Set(drawn.get(id).depends_on)) {
      if (!drawn.has(from) || from === id) continue;
      const way = [from];
      for (let layer = layerOf.get(from) + 1; layer < layerOf.get(id); layer += 1) {
        const bend = { layer };
        put(bend, layer);
        way.push(bend);
      }
      way.push(id);
      way.slice(1).forEach((node, index) => {
        near.get(way[index]).after.push(node);
        near.get(node).before.push(way[index]);
      });
      ways.push({ from, to: id, way });
    }
  }
  const row = settled(rows, near);
  const place = (node) => ({ layer: typeof node === "string" ? layerOf.get(node) : node.layer, row: row.get(node) });
  return {
    places: new Map(ids.map((id) => [id, place(id)])),
    ways: ways.map(({ from, to, way }) => ({ from, to, bends: way.slice(1, -1).map(place) })),
  };
}

const THIN = 0.4;

/** node → its row: each layer sorted by where its neighbours are, a few times to and fro. Bends take less room. */
function settled(rows, near) {
  const row = new Map();
  const number = (layer) => {
    const size = (node) => (typeof node === "string" ? 1 : THIN);
    let top = -layer.reduce((sum, node) => sum + size(node), 0) / 2;
    for (const node of layer) {
      row.set(node, top + size(node) / 2 - 0.5);
      top += size(node);
    }
  };
  rows.forEach(number);
  for (let pass = 0; pass < 8; pass += 1) {
    const side = pass % 2 === 0 ? "before" : "after";
    for (const layer of pass % 2 === 0 ? rows : [...rows].reverse()) {
      const wish = new Map(layer.map((node) => {
        const others = near.get(node)[side];
        return [node, others.length ? others.reduce((sum, other) => sum + row.get(other), 0) / others.length : row.get(node)];
      }));
      layer.sort((one, other) => wish.get(one) - wish.get(other));
      number(layer);
    }
  }
  return row;
}
