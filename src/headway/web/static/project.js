/** What is set for the project, as far as it matters for a run. */

import { get } from "./api.js";

/** {name, model, mode, parallel, sandbox}; null until it is known. */
export let project = null;

/** Asks anew: someone may have set something in a terminal. */
export async function lookAtProject() {
  project = await get("/api/project").catch(() => project);
  return project;
}
