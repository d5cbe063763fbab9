// The page: its state, its controls, and when what is drawn anew.

import { BEAM_SIZE, LENGTH_PENALTY } from "./config.js";
import { draw_cuts } from "./cuts_view.js";
import { by_id, make, say } from "./dom.js";
import { Engine } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { draw_heads, same_head } from "./heads_view.js";
import { draw_model, fill_models } from "./model_view.js";
import { MODELS } from "./models.js";
import { draw_search } from "./search_view.js";

const FILES = [
  ...["masks", "attention", "embeddings", "layers", "model", "decoding"],
  ...["matrix", "linear", "safetensors", "treatment", "bpe", "translator", "interventions"],
];
const TYPING = 150; // milliseconds without a key before what is typed is translated

const no_cuts = () => ({ before: [], after: [], removed: [] });
const state = {
  model: "demo-en-fr",
  sentence: MODELS["demo-en-fr"].samples[0],
  options: { beam_size: BEAM_SIZE, alpha: LENGTH_PENALTY },
  cuts: no_cuts(),
  mode: "after",
  head: { stack: "cross", layer: 1, head: 1 },
  shown: "whole",
  step: 1,
};
const engine = new Engine();
const ready = new Set(); // names of models that are loaded
let result = null; // of the last translation
let running = null; // a promise, while translations run
let again = false; // whether something has changed while one ran
let settings = 0; // how often something was set, so that an example knows whether it still stands

/** Translate and draw; the last wish counts, and the promise is kept once that one is drawn. */
function translate() {
  again = running !== null;
  running ??= run();
  return running;
}

/** Translate until nothing has changed meanwhile. */
async function run() {
  document.body.classList.add("busy");
  do {
    again = false;
    await translate_once();
  } while (again);
  running = null;
  document.body.classList.remove("busy");
  document.body.dataset.done = String(Number(document.body.dataset.done ?? 0) + 1);
}

/** Translate what is typed, with the cuts chosen, and draw everything. */
async function translate_once() {
  const { model: name, sentence, options, cuts } = state;
  try {
    if (!ready.has(name)) say(by_id("status"), "The model is on its way.");
    const about = await engine.ask("load", { name });
    ready.add(name);
    keep_head_in_range(about);
    const asked = { name, sentence, options, cuts: some_cuts() ? cuts : null };
    const looked = await engine.ask("look", asked);
    by_id("error").hidden = true;
    if (name !== state.model) return; // another has been chosen meanwhile
    result = looked;
    draw(about);
  } catch (error) {
    say(by_id("error"), error.message);
    by_id("error").hidden = false;
    draw_nothing("");
  }
}

/** A model with fewer layers or heads has no such head: choose its last. */
function keep_head_in_range({ num_layers, num_heads }) {
  const { stack, layer, head } = state.head;
  state.head = { stack, layer: Math.min(layer, num_layers), head: Math.min(head, num_heads) };
}

/** Whether anything is taken away. */
const some_cuts = () => Object.values(state.cuts).some((list) => list.length > 0);

/** Leave only what one needs to go on. */
function draw_nothing(status) {
  result = null;
  for (const id of ["heads", "cuts", "search"]) by_id(id).hidden = true;
  say(by_id("translation"), "");
  say(by_id("status"), status);
}

/** Draw everything that depends on the result. */
function draw(about) {
  if (result === null) {
    draw_nothing("Type a sentence.");
    return;
  }
  for (const id of ["heads", "cuts", "search"]) by_id(id).hidden = false;
  const { translation, src_tokens, tgt_tokens, ms } = result.whole;
  say(by_id("translation"), translation);
  const megabytes = (about.bytes / 1e6).toFixed(1);
  say(
    by_id("status"),
    `${src_tokens.length} tokens in, ${tgt_tokens.length} out, ${Math.round(ms)} ms. ` +
      `The model: ${megabytes} MB, read in ${Math.round(about.ms_to_read)} ms.`,
  );
  draw_heads(state, result, acts);
  draw_cuts(state, result, acts);
  draw_search(state, result.whole);
}

const acts = {
  choose_head(head) {
    state.head = head;
    hide_see();
    draw_heads(state, result, acts);
  },
  choose_shown(shown) {
    state.shown = shown;
    draw_heads(state, result, acts);
  },
  choose_mode(mode) {
    state.mode = mode;
  },
  toggle_place(place) {
    const { cuts, mode } = state;
    const hidden = cuts.before.includes(place) || cuts.after.includes(place);
    const open = result.whole.src_tokens.length - cuts.before.length - cuts.after.length;
    if (!hidden && open === 1) return; // its button is disabled, or will be in a moment
    for (const list of ["before", "after"]) cuts[list] = cuts[list].filter((at) => at !== place);
    if (!hidden) cuts[mode].push(place);
    change_cuts();
  },
  toggle_head(head) {
    const others = state.cuts.removed.filter((other) => !same_head(other, head));
    const removed = others.length < state.cuts.removed.length;
    state.cuts.removed = removed ? others : [...others, head];
    change_cuts();
  },
};

/** Show what the cuts do. */
function change_cuts() {
  state.shown = some_cuts() ? "cut" : "whole";
  hide_see();
  translate();
}

/** Take another sentence: its places are others, so nothing is hidden. */
function set_sentence(sentence) {
  state.sentence = sentence;
  state.cuts = { ...no_cuts(), removed: state.cuts.removed };
  state.step = 1;
}

/** Take another model, and say what it is. */
function set_model(name) {
  state.model = name;
  state.cuts = no_cuts();
  state.shown = "whole";
  draw_nothing(""); // what stands there is another model's
  draw_model(name, type);
}

/** Put a sentence into the box, and translate it. */
function type(sentence) {
  by_id("sentence").value = sentence;
  set_sentence(sentence);
  hide_see();
  return translate();
}

/** Set everything up for one example, and go where there is something to see. */
async function set_example(example, button) {
  const { model = "demo-en-fr", sentence, cuts, head, step, see } = example;
  if (model !== state.model) set_model(model);
  by_id("sentence").value = sentence;
  set_sentence(sentence);
  state.cuts = { ...no_cuts(), ...structuredClone(cuts ?? {}) };
  if (cuts?.before) state.mode = "before";
  if (cuts?.after) state.mode = "after";
  if (head) state.head = head;
  state.shown = cuts ? "cut" : "whole";
  state.step = step ?? 1;
  state.options = { beam_size: BEAM_SIZE, alpha: LENGTH_PENALTY };
  show_options();
  hide_see();
  const mine = settings;
  await translate();
  if (mine !== settings || result === null) return; // something else was set, or it failed
  const where = cuts ? "cuts" : step ? "search" : "heads";
  by_id(`${where}-see`).hidden = false;
  say(by_id(`${where}-see`), see);
  button.setAttribute("aria-current", "true");
  by_id(`${where}-title`).focus({ preventScroll: true });
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  by_id(where).scrollIntoView({ behavior: calm ? "auto" : "smooth" });
}

/** An example's words are of its own setting: hide them once anything else is set. */
function hide_see() {
  settings += 1;
  for (const where of ["cuts", "search", "heads"]) by_id(`${where}-see`).hidden = true;
  by_id("examples").querySelector("[aria-current]")?.removeAttribute("aria-current");
}

/** Say in the closed line what the search's options are. */
function show_options() {
  const { beam_size, alpha } = state.options;
  by_id("beam-size").value = beam_size;
  by_id("alpha").value = alpha;
  say(by_id("options-said"), beam_size === 1 ? "greedy" : `beam of ${beam_size}, α ${alpha}`);
}

/** Take a number that is typed, if it is one that the field allows. */
function on_number(id, key) {
  by_id(id).addEventListener("input", ({ target }) => {
    if (target.value === "" || !target.checkValidity()) return;
    state.options = { ...state.options, [key]: target.valueAsNumber };
    const { beam_size, alpha } = state.options;
    say(by_id("options-said"), beam_size === 1 ? "greedy" : `beam of ${beam_size}, α ${alpha}`);
    hide_see();
    translate();
  });
}

/** Go to another step of the search. */
function set_step(step) {
  state.step = step;
  if (result !== null) draw_search(state, result.whole);
}

/** Translate what is typed: after a pause, or at once with Enter. */
function listen_to_typing(box) {
  let timer = 0;
  const read = () => {
    clearTimeout(timer);
    set_sentence(box.value);
    hide_see();
    translate();
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(read, TYPING);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    read();
  });
}

/** Fill in what is the same for every model and sentence, and listen to the controls. */
async function start() {
  fill_models();
  by_id("model").addEventListener("change", ({ target }) => {
    set_model(target.value);
    type(MODELS[target.value].samples[0]);
  });
  listen_to_typing(by_id("sentence"));
  on_number("beam-size", "beam_size");
  on_number("alpha", "alpha");
  by_id("put-back").addEventListener("click", () => {
    state.cuts = no_cuts();
    change_cuts();
  });
  by_id("step").addEventListener("input", ({ target }) => set_step(target.valueAsNumber));
  by_id("step-back").addEventListener("click", () => set_step(Number(by_id("step").value) - 1));
  by_id("step-on").addEventListener("click", () => set_step(Number(by_id("step").value) + 1));
  for (const example of EXAMPLES) {
    const button = make("button", { type: "button" }, example.title);
    button.addEventListener("click", () => set_example(example, button));
    by_id("examples").append(make("li", {}, button));
  }
  for (const name of FILES) {
    by_id("files").append(make("li", {}, make("a", { href: `js/${name}.js` }, `${name}.js`)));
  }
  set_model(state.model);
  show_options();
  await type(state.sentence);
  engine.ask("load", { name: "demo-fr-en" }).catch(() => {}); // at hand, should the network go
}

start();
