// What the page shows, in its address: a link restores it.

/** What a number of the search may be; the page's fields take the same. */
export const RANGES = {
  beam_size: { least: 1, most: 12, whole: true },
  alpha: { least: 0, most: 3 },
  temperature: { least: 0.1, most: 3 },
  top_p: { least: 0.05, most: 1 },
  seed: { least: 1, most: 1e9, whole: true },
};
const PLACES = ["step", "src_at", "stop", "layer", "lit"]; // of the state, as they are named there
const HIDDEN = ["before", "after"]; // of the cuts: where source tokens are hidden
export const MAX_CUTS = 200; // tokens or heads that a link holds of each list of cuts
const MAX_TOLD = 5; // settings of a link that are told one by one
const MAX_LETTERS = 20; // of a value that is told

/** Return the number that a text spells in figures; null where it is not in the range. */
export function read_number(text, { least, most, whole = false }) {
  const figures = whole ? /^\d{1,10}$/ : /^\d{0,10}\.?\d{1,17}$/;
  const value = figures.test(text) ? Number(text) : NaN;
  return value >= least && value <= most ? value : null;
}

/** Say which numbers are in a range. */
export function describe_range({ least, most, whole = false }) {
  return `a ${whole ? "whole number" : "number"} from ${least} to ${most}`;
}

/** Write the state as the part of an address after "#"; of each list of cuts the first `MAX_CUTS`. */
export function write_link(state) {
  const { model, sentence, box, head, options, cuts } = state;
  const values = new URLSearchParams({ model, s: sentence });
  if (box !== null) values.set("box", box);
  values.set("head", write_head(head));
  for (const [name, value] of Object.entries(options)) values.set(name, value);
  for (const name of PLACES) if (state[name] !== null) values.set(name, state[name]);
  for (const name of HIDDEN) if (cuts[name].length > 0) values.set(name, cuts[name].slice(0, MAX_CUTS).join("."));
  if (state.shown === "cut") values.set("shown", "cut");
  if (cuts.removed.length > 0) values.set("removed", cuts.removed.slice(0, MAX_CUTS).map(write_head).join("_"));
  return `#${values}`;
}

/** Return a sentence on how many cuts a link leaves out; "" where it holds them all. */
export function describe_left_out(cuts) {
  const left_out = Object.values(cuts).reduce((sum, list) => sum + Math.max(list.length - MAX_CUTS, 0), 0);
  if (left_out === 0) return "";
  return `${left_out} ${left_out === 1 ? "cut is" : "cuts are"} not in it: a link holds the first ${MAX_CUTS} of a kind.`;
}

const write_head = ({ stack, layer, head }) => `${stack}.${layer}.${head}`;

/** Return the settings of an address, [name, text] each; a mere anchor, "#tour", has none. */
function settings_of(hash) {
  return hash.includes("=") ? [...new URLSearchParams(hash.replace(/^#/, ""))] : [];
}

/** Tell a setting that was not used, and why. */
function told(name, text, reason) {
  const short = (words) => (words.length > MAX_LETTERS ? `${words.slice(0, MAX_LETTERS)}…` : words);
  return `${short(name)}=${short(text)} (${reason})`;
}

/**
 * Read what an address asks for; what it does not say, or says wrong, stays as it is.
 * @param {string} hash With its "#".
 * @param {object} state Where the values are put.
 *   Its `box` may be null, for none is open.
 * @param {object} known `models` and `boxes`, by name, and `num_stops`.
 * @returns {string[]} What was ignored, each with what it should have been.
 */
export function read_link(hash, state, known) {
  const readers = readers_of(state, known);
  const usual_head = state.head;
  const [ignored, read] = [[], new Map()];
  for (const [name, text] of settings_of(hash)) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : null;
    const value = reader === null ? null : reader.read(text);
    if (reader === null) ignored.push(told(name, text, "no setting of this page"));
    else if (read.has(name)) ignored.push(told(name, text, "given twice"));
    else if (value === null) ignored.push(told(name, text, `give ${reader.wanted}`));
    else reader.put(value);
    read.set(name, text);
  }
  const { head: stack = state.head.stack } = known.boxes[state.box] ?? {};
  if (stack === state.head.stack) return ignored;
  if (state.head !== usual_head) ignored.push(told("head", read.get("head"), `the box's are of ${stack}`));
  state.head = { ...usual_head, stack };
  return ignored;
}

/** Return for each setting how it is read (null: wrongly said), what it may be, where it is put. */
function readers_of(state, known) {
  const put_into = (place, name) => (value) => (place[name] = value);
  const choice = (names, wanted, put) => ({
    ...{ wanted, put },
    read: (text) => (names.includes(text) ? text : null),
  });
  const number = (range, put) => ({
    ...{ wanted: describe_range(range), put },
    read: (text) => read_number(text, range),
  });
  const place = (name, least, most) => number({ least, most, whole: true }, put_into(state, name));
  const options = Object.entries(RANGES).map(([name, range]) => [
    name,
    number(range, put_into(state.options, name)),
  ]);
  return {
    model: choice(Object.keys(known.models), "a model of the list", put_into(state, "model")),
    s: { wanted: "a sentence", read: (text) => text, put: put_into(state, "sentence") },
    box: choice(Object.keys(known.boxes), "a box of the drawing", put_into(state, "box")),
    head: { wanted: "a head such as cross.2.1", read: read_head, put: put_into(state, "head") },
    before: { wanted: `places such as 0.2, at most ${MAX_CUTS}`, read: read_places, put: put_into(state.cuts, "before") },
    after: { wanted: `places such as 0.2, at most ${MAX_CUTS}`, read: read_places, put: put_into(state.cuts, "after") },
    removed: { wanted: `heads such as cross.2.1, at most ${MAX_CUTS}`, read: read_heads, put: put_into(state.cuts, "removed") },
    search: choice(["beam", "draw"], "beam or draw", put_into(state.options, "search")),
    ...Object.fromEntries(options),
    step: place("step", 1, 1000),
    src_at: place("src_at", 0, 1000),
    stop: place("stop", 1, known.num_stops),
    layer: place("layer", 1, 100),
    lit: place("lit", 0, 100),
    shown: choice(["whole", "cut"], "whole or cut", put_into(state, "shown")),
  };
}

/** Return the head that a text names, "cross.2.1"; null where it names none. */
function read_head(text) {
  const parts = /^(encoder|decoder|cross)\.([1-9]\d?)\.([1-9]\d?)$/.exec(text);
  return parts && { stack: parts[1], layer: Number(parts[2]), head: Number(parts[3]) };
}

/** Return the heads that a text names, each once, "cross.2.1_encoder.1.3"; null where it does not. */
function read_heads(text) {
  const names = text.split("_");
  const heads = names.map(read_head);
  const is_right = !heads.includes(null) && new Set(names).size === names.length;
  return is_right && names.length <= MAX_CUTS ? heads : null;
}

/** Return the places that a text names, each once, "0.2"; null where it does not. */
function read_places(text) {
  const places = text.split(".");
  const is_right = places.every((place) => /^(0|[1-9]\d{0,2})$/.test(place));
  const is_short = new Set(places).size === places.length && places.length <= MAX_CUTS;
  return is_right && is_short ? places.map(Number) : null;
}

/**
 * Return those of the cuts that a model and a sentence of this size can have: each place once, and
 * at least one that can still be attended to.
 * @param {object} cuts before, after and removed, as `read_link` leaves them.
 * @param {object} sizes num_layers, num_heads and src_len.
 */
export function cuts_within({ before, after, removed }, { num_layers, num_heads, src_len }) {
  const places = before.filter((place) => place < src_len);
  const others = after.filter((place) => place < src_len && !places.includes(place));
  const leaves_one = places.length + others.length < src_len;
  return {
    before: leaves_one ? places : [],
    after: leaves_one ? others : [],
    removed: removed.filter(({ layer, head }) => layer <= num_layers && head <= num_heads),
  };
}

/**
 * Return what an address asked for that this model, or this translation, has not.
 * @param {string} hash With its "#".
 * @param {object} asked The state as `read_link` left it.
 * @param {object} sizes num_layers, num_heads, src_len and tgt_len of what is shown.
 */
export function beyond(hash, asked, { num_layers, num_heads, src_len, tgt_len }) {
  const { layer, head } = asked.head;
  const sizes = { num_layers, num_heads, src_len };
  const within = cuts_within(asked.cuts, sizes);
  const last = {
    step: [asked.step, 1, tgt_len],
    src_at: [asked.src_at, 0, src_len - 1],
    layer: [asked.layer, 1, num_layers],
    lit: [asked.lit, 0, num_heads],
  };
  return settings_of(hash).flatMap(([name, text]) => {
    if (name === "head" && (layer > num_layers || head > num_heads)) {
      return told(name, text, `the model has ${num_layers} layers of ${num_heads} heads`);
    }
    if (Object.hasOwn(within, name) && within[name].length < asked.cuts[name].length) {
      const limits = `${src_len} source tokens, ${num_layers} layers, ${num_heads} heads`;
      return told(name, text, `there are ${limits}, and a token must stay`);
    }
    if (!Object.hasOwn(last, name)) return [];
    const [value, least, most] = last[name];
    const is_beyond = Number.isFinite(value) && value > most;
    const wanted = describe_range({ least, most, whole: true });
    return is_beyond ? told(name, text, `give ${wanted}`) : [];
  });
}

/** Write what was ignored in one line; "" where nothing was. */
export function describe_ignored(ignored) {
  if (ignored.length === 0) return "";
  const others = ignored.length - MAX_TOLD;
  const more = others > 0 ? ` and ${others} more` : "";
  return `Not used from the link: ${ignored.slice(0, MAX_TOLD).join("; ")}${more}.`;
}
