// The page: its state, its controls, and when what is drawn anew.

import { draw_box } from "./box_view.js";
import { BOXES } from "./boxes.js";
import { MANIFEST } from "./checks.js";
import { BEAM_SIZE, LENGTH_PENALTY } from "./config.js";
import { copy_link } from "./copy_link.js";
import { draw_cuts } from "./cuts_view.js";
import { draw_boxes, draw_tokens, light_tokens, mark_box } from "./diagram.js";
import { by_id, fill_radios, make, say } from "./dom.js";
import { Engine } from "./engine.js";
import { draw_heads, same_head } from "./heads_view.js";
import { language_tag } from "./languages.js";
import { draw_model, fill_models } from "./model_view.js";
import { describe_opened, fetch_offered } from "./models.js";
import { listen_to_folders } from "./open_folder.js";
import {
  beyond,
  cuts_within,
  describe_ignored,
  describe_range,
  RANGES,
  read_link,
  read_number,
  write_link,
} from "./permalink.js";
import { draw_search } from "./search_view.js";
import { STOPS } from "./tour.js";
import { FILES as MODEL_FILES } from "./translator.js";
import { clear_remarks, draw_remarks } from "./typed_view.js";

const FILES = [
  ...["masks", "attention", "feed_forward", "positions", "embeddings", "layers", "model"],
  ...["next_token", "decoding", "sampling", "matrix", "linear", "safetensors", "sha256", "formats"],
  ...["normalizers", "bpe", "translator", "interventions", "trace"],
];
const TYPING = 150; // milliseconds without a key before what is typed is translated
const A_TOKEN = 900; // milliseconds that a token is shown while playing
const SECTIONS = ["architecture", "cuts"];
const FIELDS = { beam_size: "Beam size", alpha: "α", temperature: "Temperature", top_p: "Top-p" };
const WAYS = [
  ["beam", "beam or greedy"],
  ["draw", "draw"],
];

const no_cuts = () => ({ before: [], after: [], removed: [] });
const usual = () => ({
  search: "beam",
  beam_size: BEAM_SIZE,
  alpha: LENGTH_PENALTY,
  temperature: 1,
  top_p: 0.9,
  seed: 1,
});
const state = {
  model: "", // its name in `models`
  sentence: "",
  langs: { src: "", tgt: "" }, // tags of the model's languages, for browsers
  options: usual(),
  cuts: no_cuts(),
  mode: "after",
  box: "cross",
  layer: 1,
  head: { stack: "cross", layer: 2, head: 1 },
  shown: "whole",
  src_at: 0, // the source token looked at
  step: Infinity, // the target token looked at, from 1; the last where there are fewer
  stop: null, // of the tour, from 1
};
const engine = new Engine();
const models = {}; // that can be chosen, by name
let stops = []; // of the tour, those whose models are there
const ready = new Set(); // names of models that are loaded
const words = new Map(); // of a model's training text, by its name; null where there is no list
let result = null; // of the last translation
let traced = null; // its way through the boxes
let running = null; // a promise, while translations run
let again = false; // whether something has changed while one ran
let settings = 0; // how often something was set, so that a stop knows whether it still stands
let playing = 0; // of the timer

/** Translate and draw; return a promise that is kept once the latest setting is drawn. */
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
    if (!ready.has(name)) say(by_id("status"), "Loading the model.");
    const about = await load(name);
    ready.add(name);
    keep_in_range(about);
    const asked = { name, sentence, options, cuts: some_cuts() ? cuts : null };
    const looked = await engine.ask("look", asked);
    const { src, said } = looked?.whole ?? {};
    const way = looked && (await engine.ask("trace", { name, src, said }));
    by_id("error").hidden = true;
    if (name !== state.model) return; // another has been chosen meanwhile
    [result, traced] = [looked, way];
    draw(about);
    tell_remarks(name, sentence);
  } catch (error) {
    tell_error(error);
    draw_nothing("");
  }
}

/** Load a model that can be chosen; return what the worker says of it. */
function load(name) {
  const { src_lang, tgt_lang } = models[name];
  return engine.ask("load", { name, direction: `${src_lang}-${tgt_lang}` });
}

/** Choose a model's last layer and head where it has fewer than are chosen. */
function keep_in_range({ num_layers, num_heads }) {
  const { stack, layer, head } = state.head;
  state.head = { stack, layer: Math.min(layer, num_layers), head: Math.min(head, num_heads) };
  state.layer = Math.max(1, Math.min(state.layer, num_layers));
}

/** Say what went wrong, in a line. */
function tell_error({ message }) {
  say(by_id("error"), message);
  by_id("error").hidden = false;
  clear_remarks();
  by_id("error").scrollIntoView({ block: "nearest" });
}

/** Return whether anything is taken away. */
const some_cuts = () => Object.values(state.cuts).some((list) => list.length > 0);

/** Hide all but what one needs to go on. */
function draw_nothing(status) {
  [result, traced] = [null, null];
  stop_playing();
  for (const id of SECTIONS) by_id(id).hidden = true;
  say(by_id("translation"), "");
  say(by_id("status"), status);
}

/** Say what a sentence as it is typed is worth, where the model's training text is known. */
async function tell_remarks(name, sentence) {
  const { words: address, samples } = models[name];
  if (address && !words.has(name)) {
    words.set(name, null);
    const list = await engine.ask("words", { address }).catch(() => null);
    words.set(name, list && new Set(list));
  }
  if (name !== state.model || sentence !== state.sentence) return;
  const known = words.get(name) ?? null;
  if (known === null) clear_remarks();
  else draw_remarks(sentence, known, samples[0], type);
}

/** Draw everything that depends on the result. */
function draw(about) {
  if (result === null) {
    draw_nothing("Type a sentence.");
    return;
  }
  for (const id of SECTIONS) by_id(id).hidden = false;
  const { translation, src_tokens, tgt_tokens, ms } = result.whole;
  state.src_at = Math.min(state.src_at, src_tokens.length - 1);
  say(by_id("translation"), translation);
  const megabytes = (about.bytes / 1e6).toFixed(1);
  say(
    by_id("status"),
    `${src_tokens.length} tokens in, ${tgt_tokens.length} out, ${Math.round(ms)} ms. ` +
      `The model: ${megabytes} MB, read in ${Math.round(about.ms_to_read)} ms.`,
  );
  draw_opened();
  draw_cuts(state, result, acts);
}

/** Draw the tokens, and the box that is open. */
function draw_opened() {
  if (result === null) return;
  const { src_tokens: src, tgt_tokens: tgt } = result.whole;
  const tokens = { src, tgt, read: ["<bos>", ...tgt.slice(0, -1)] };
  const { head } = BOXES[state.box];
  mark_box(state.box);
  draw_tokens(state, tokens, acts);
  draw_box(state, traced, tokens, acts);
  by_id("numbers-whole").hidden = result.cut === null;
  by_id("heads").hidden = head === undefined;
  by_id("search").hidden = state.box !== "output";
  if (head !== undefined) draw_heads(state, result, acts);
  if (state.box === "output") draw_search(state, result.whole);
  history.replaceState(null, "", write_link({ ...state, step: Math.min(state.step, tgt.length) }));
}

const acts = {
  open_box(name) {
    state.box = name;
    if (BOXES[name].head) state.head = { ...state.head, stack: BOXES[name].head };
    hide_see();
    draw_opened();
    if (matchMedia("(max-width: 48rem)").matches) by_id("box-title").focus();
  },
  choose_layer(layer) {
    state.layer = layer;
    draw_opened();
  },
  choose_head(head) {
    state.head = head;
    hide_see();
    draw_opened();
  },
  choose_shown(shown) {
    state.shown = shown;
    draw_opened();
  },
  choose_source(at) {
    state.src_at = at;
    draw_opened();
  },
  choose_step(step) {
    stop_playing();
    state.step = step;
    draw_opened();
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

/** Take another sentence; nothing of it is hidden, for its places are others. */
function set_sentence(sentence) {
  stop_playing();
  state.sentence = sentence;
  state.cuts = { ...no_cuts(), removed: state.cuts.removed };
  state.step = Infinity;
}

/** Take another model, and say what it is. */
function set_model(name) {
  state.model = name;
  state.cuts = no_cuts();
  state.shown = "whole";
  draw_nothing(""); // what stands there is another model's
  const { src_lang, tgt_lang } = models[name];
  state.langs = { src: language_tag(src_lang), tgt: language_tag(tgt_lang) };
  draw_model(name, models[name], type);
}

/** Put a sentence into the box, and translate it. */
function type(sentence) {
  by_id("sentence").value = sentence;
  set_sentence(sentence);
  hide_see();
  return translate();
}

/** Set everything up for a stop of the tour. */
async function go_to_stop(number) {
  const { model, sentence, cuts, head, step, box } = stops[number - 1];
  if (model !== state.model) set_model(model);
  by_id("sentence").value = sentence;
  set_sentence(sentence);
  state.cuts = { ...no_cuts(), ...structuredClone(cuts ?? {}) };
  state.mode = cuts?.before ? "before" : "after";
  if (head) state.head = head;
  Object.assign(state, { box, shown: cuts ? "cut" : "whole", step: step ?? Infinity, src_at: 0 });
  state.options = usual();
  show_options();
  hide_see();
  const mine = settings;
  await translate();
  if (mine === settings && result !== null) show_stop(number);
}

/** Say what a stop shows, and what to do there. */
function show_stop(number) {
  const { title, see, todo } = stops[number - 1];
  state.stop = number;
  by_id("stop").hidden = false;
  say(by_id("stop-title"), `${number} of ${stops.length}. ${title}`);
  say(by_id("stop-see"), see);
  say(by_id("stop-todo"), todo);
  by_id("stop-back").disabled = number === 1;
  by_id("stop-on").disabled = number === stops.length;
  by_id("stops").children[number - 1].firstChild.setAttribute("aria-current", "step");
  draw_opened();
}

/** Hide what is said of a stop or a link, for something else has been set. */
function hide_see() {
  settings += 1;
  state.stop = null;
  say_ignored([]);
  by_id("stops").querySelector("[aria-current]")?.removeAttribute("aria-current");
}

/** Say in the closed line what the search's options are, and show those of its way. */
function show_options() {
  const { search, beam_size, alpha, temperature, top_p } = state.options;
  const beam = beam_size === 1 ? "greedy" : `beam of ${beam_size}, α ${alpha}`;
  const drawn = `draw, temperature ${temperature}, top-p ${top_p}`;
  say(by_id("options-said"), search === "draw" ? drawn : beam);
  fill_radios(by_id("search-picker"), WAYS, search, (way) => set_option("search", way));
  for (const name of Object.keys(FIELDS)) {
    if (by_id(name) === document.activeElement) continue;
    by_id(name).value = state.options[name];
    by_id(name).removeAttribute("aria-invalid");
  }
  if (!document.querySelector("[aria-invalid=true]")) say(by_id("option-wrong"), "");
  by_id("beam-fields").hidden = search === "draw";
  by_id("draw-fields").hidden = search !== "draw";
}

/** Set one option of the search, and translate with it. */
function set_option(name, value) {
  state.options = { ...state.options, [name]: value };
  state.step = Infinity;
  show_options();
  translate();
}

/** Take a number that is typed, if it is one that the option may be; else say which are. */
function on_number(name) {
  const { least: min, most: max } = RANGES[name];
  Object.assign(by_id(name), { min, max });
  by_id(name).addEventListener("input", ({ target }) => {
    if (target.value === "" && !target.validity.badInput) return; // it is being typed anew
    const value = read_number(target.value, RANGES[name]);
    target.setAttribute("aria-invalid", String(value === null));
    const wanted = `${FIELDS[name]}: give ${describe_range(RANGES[name])}.`;
    say(by_id("option-wrong"), value === null ? wanted : "");
    if (value !== null) set_option(name, value);
  });
}

/** Write the translation token by token, from the first, or stop. */
function play() {
  if (playing) return stop_playing();
  const last = result.whole.tgt_tokens.length;
  state.step = 1;
  draw_opened();
  say(by_id("play"), "Pause");
  playing = setInterval(() => {
    if (state.step >= last) return stop_playing();
    state.step += 1;
    draw_opened();
  }, A_TOKEN);
}

function stop_playing() {
  clearInterval(playing);
  playing = 0;
  say(by_id("play"), "Play");
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

/** Listen to the buttons that stand there from the beginning. */
function listen() {
  const press = (id, act) => by_id(id).addEventListener("click", act);
  by_id("model").addEventListener("change", ({ target }) => {
    set_model(target.value);
    type(models[target.value].samples[0] ?? "");
  });
  listen_to_typing(by_id("sentence"));
  for (const name of Object.keys(FIELDS)) on_number(name);
  press("draw-again", () => set_option("seed", state.options.seed + 1));
  press("put-back", () => {
    state.cuts = no_cuts();
    change_cuts();
  });
  by_id("step").addEventListener("input", ({ target }) => acts.choose_step(target.valueAsNumber));
  press("play", play);
  const step = (by) => acts.choose_step(Number(by_id("step").value) + by);
  press("step-back", () => step(-1));
  press("step-on", () => step(1));
  press("stop-back", () => go_to_stop(state.stop - 1));
  press("stop-on", () => go_to_stop(state.stop + 1));
  press("copy", copy_link);
  listen_to_folders([MANIFEST, ...MODEL_FILES], open_model, tell_error);
  // A link that is put into the address of the open page; the page's own writing does not come here.
  addEventListener("hashchange", () => location.hash.includes("=") && location.reload());
}

/** Fill in what is the same for every model and sentence, and begin. */
async function start() {
  document.body.classList.toggle("embed", new URLSearchParams(location.search).has("embed"));
  try {
    offer(await fetch_offered());
  } catch (error) {
    tell_error(error);
    return;
  }
  draw_boxes(acts);
  light_tokens();
  for (const name of FILES) {
    by_id("files").append(make("li", {}, make("a", { href: `js/${name}.js` }, `${name}.js`)));
  }
  listen();
  await begin(location.hash);
}

/** Offer what models.json lists: its models, the stops of the tour that they can show, its terms. */
function offer({ models: listed, terms, course }) {
  Object.assign(models, listed);
  state.model = Object.keys(models)[0];
  state.sentence = models[state.model].samples[0] ?? "";
  fill_models(models);
  stops = STOPS.filter(({ model }) => Object.hasOwn(models, model));
  by_id("tour").hidden = stops.length === 0;
  stops.forEach(({ title }, i) => {
    const button = make("button", { type: "button" }, title);
    button.addEventListener("click", () => go_to_stop(i + 1));
    by_id("stops").append(make("li", {}, button));
  });
  say(by_id("terms"), terms ?? "");
  by_id("course").hidden = !course;
  if (course) by_id("course").href = course;
}

/** Take the model of a folder that a reader opened, and choose it. */
async function open_model(folder, files) {
  const name = `${folder} (yours)`; // no model of the list is called so
  const about = await engine.ask("open", { name, folder, files });
  models[name] = describe_opened(folder, about);
  fill_models(models);
  set_model(name);
  await type("");
  by_id("sentence").focus();
}

/** Show what the address asks for, and say what of it was not used. */
async function begin(hash) {
  const known = { models, boxes: BOXES, num_stops: stops.length };
  const ignored = read_link(hash, state, known);
  const { sentence, step, stop } = state;
  const asked = structuredClone(state);
  set_model(state.model);
  show_options();
  const shown = stop === null ? type(sentence) : go_to_stop(stop);
  state.step = stop === null ? step : state.step;
  const mine = settings;
  say_ignored(ignored);
  await shown;
  if (mine !== settings || stop !== null || result === null) return;
  const { num_layers, num_heads } = await load(state.model);
  const { src_tokens, tgt_tokens } = result.whole;
  const sizes = { num_layers, num_heads, src_len: src_tokens.length, tgt_len: tgt_tokens.length };
  const told = [...ignored, ...beyond(hash, asked, sizes)];
  state.cuts = cuts_within(asked.cuts, sizes);
  if (some_cuts()) {
    state.shown = "cut";
    state.mode = state.cuts.before.length > 0 ? "before" : "after";
    await translate();
  }
  say_ignored(told);
}

/** Say in a line what of the link was not used. */
function say_ignored(ignored) {
  say(by_id("ignored"), describe_ignored(ignored));
  by_id("ignored").hidden = ignored.length === 0;
}

start();
