// Begins what the first translation waits for, while the page's other scripts are still on their way:
// the worker; the list of models, then the files of the model that the address asks for, or of the first.

import { Engine } from "./engine.js";
import { fetch_model } from "./model_files.js";
import { fetch_offered } from "./models.js";

/** The page's way to its worker. */
export const engine = new Engine();

/** What models.json lists (see `fetch_offered`). */
export const offered = fetch_offered();

offered
  .then(({ models }) => {
    const asked = new URLSearchParams(location.hash.slice(1)).get("model");
    return fetch_model(Object.hasOwn(models, asked) ? asked : Object.keys(models)[0]);
  })
  .catch(() => {}); // who asks for the list, or for the files, is told
