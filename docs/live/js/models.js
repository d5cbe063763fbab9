// The models that the page offers: those that models.json lists, and folders that a reader opens.

import { UserError } from "./errors.js";
import { parse_json_object } from "./formats.js";

const LIST = "models.json"; // beside index.html; `attention-course page` writes another

/**
 * Return what models.json lists.
 * @returns {Promise<object>} `models`, by name: src_lang, tgt_lang, group, about, samples, and
 *   `words`, the address of a list of the training text's words, where there is one; `terms`, whose
 *   terms hold; `course`, the address of the course, where there is one.
 */
export async function fetch_offered() {
  const response = await fetch(new URL(`../${LIST}`, import.meta.url)).catch(() => null);
  if (!response?.ok) {
    throw new UserError(`${LIST} cannot be fetched: is the server there, and the page whole?`);
  }
  const offered = parse_json_object(LIST, await response.arrayBuffer());
  if (Object.values(offered.models ?? {}).length === 0) throw new UserError(`${LIST} lists no model`);
  return offered;
}

/** Return the words of a model's training text from the address of their list; null where it is not there. */
export async function fetch_words(address) {
  const response = await fetch(new URL(`../${address}`, import.meta.url));
  return response.ok ? new Set((await response.text()).trimEnd().split("\n")) : null;
}

/**
 * Return what the page says of a model that a reader opened.
 * @param {string} folder The folder's name.
 * @param {object} about The worker's: src_lang, tgt_lang, corpus.
 */
export function describe_opened(folder, { src_lang, tgt_lang, corpus }) {
  const about =
    `Read from the folder ${folder} on your computer; it stays there. ` +
    `It was trained on the corpus ${corpus}.`;
  return { src_lang, tgt_lang, group: "Opened from your computer", about, samples: [] };
}
