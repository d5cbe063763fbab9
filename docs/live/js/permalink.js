// What the page shows, in its address: a link restores it.

const NUMBERS = ["step", "src_at", "stop", "layer"]; // of the state, as they are named there

/** Write the state as the part of an address after "#". */
export function write_link(state) {
  const { model, sentence, box, head, options } = state;
  const values = new URLSearchParams({ model, s: sentence, box });
  values.set("head", `${head.stack}.${head.layer}.${head.head}`);
  for (const [name, value] of Object.entries(options)) values.set(name, value);
  for (const name of NUMBERS) if (state[name] !== null) values.set(name, state[name]);
  return `#${values}`;
}

/**
 * Read what an address asks for; what it does not say, or says wrong, stays as it is.
 * @param {string} hash With its "#".
 * @param {object} state Where the values are put.
 * @param {object} known `models` and `boxes`, by name.
 */
export function read_link(hash, state, known) {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  if (Object.hasOwn(known.models, values.get("model"))) state.model = values.get("model");
  if (values.has("s")) state.sentence = values.get("s").slice(0, 2000);
  if (Object.hasOwn(known.boxes, values.get("box"))) state.box = values.get("box");
  const head = /^(encoder|decoder|cross)\.([1-9])\.([1-9])$/.exec(values.get("head") ?? "");
  if (head) state.head = { stack: head[1], layer: Number(head[2]), head: Number(head[3]) };
  if (["beam", "draw"].includes(values.get("search"))) state.options.search = values.get("search");
  for (const [name, [low, high]] of Object.entries(RANGES)) {
    const value = Number(values.get(name) ?? NaN);
    if (value >= low && value <= high) state.options[name] = value;
  }
  for (const name of NUMBERS) {
    const value = Number(values.get(name) ?? NaN);
    if (Number.isInteger(value) && value >= 0) state[name] = value;
  }
}

/** What an option of the search may be, from and to; the fields of the page say the same. */
export const RANGES = {
  beam_size: [1, 12],
  alpha: [0, 3],
  temperature: [0.1, 3],
  top_p: [0.05, 1],
  seed: [1, 1e9],
};
