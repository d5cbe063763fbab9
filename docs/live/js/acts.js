// What the page's controls change, and what follows from it: a drawing, or a new translation.

import { BOXES } from "./boxes.js";
import { by_id, say } from "./dom.js";
import { Drawing } from "./drawing.js";
import { engine } from "./early.js";
import { same_head } from "./heads_view.js";
import { language_tag } from "./languages.js";
import { draw_model } from "./model_view.js";
import { fetch_words } from "./models.js";
import { show_options } from "./options_view.js";
import { describe_ignored } from "./permalink.js";
import { Player } from "./player.js";
import { Session } from "./session.js";
import * as states from "./state.js";
import { clear_remarks, draw_remarks } from "./typed_view.js";

const { state, no_cuts, has_cuts } = states;
export const models = {}; // that can be chosen, by name
const words = new Map(); // promises of the words of a model's training text, by its name; of null where no list is there
const followers = []; // of what is drawn

let changes = 0; // how often something was set, so that what waits knows whether it still stands

/** Return how often something was set. */
export const num_changes = () => changes;

/** Call `follow` with what the page shows (see `Drawing.seen_now`) whenever it is drawn. */
export const on_drawn = (follow) => followers.push(follow);

export const acts = {
  open_box(name) {
    state.box = name;
    const stack = name === null ? undefined : BOXES[name].head;
    if (stack) state.head = { ...state.head, stack, layer: state.layer };
    touched();
    drawing.redraw();
    if (name !== null && !by_id("stage").classList.contains("docked")) by_id("box-title").focus();
  },
  open_head(head) {
    state.head = head;
    acts.open_box(head.stack);
  },
  choose_layer(layer) {
    states.choose_layer(layer);
    drawing.redraw();
  },
  choose_lit(head) {
    state.lit = head;
    if (head > 0) state.head = { ...state.head, head };
    drawing.redraw();
  },
  choose_head(head) {
    states.choose_head(head);
    touched();
    drawing.redraw();
  },
  choose_shown(shown) {
    state.shown = shown;
    drawing.redraw();
  },
  choose_temperature(temperature) {
    touched();
    if (state.options.search === "draw") return set_option("temperature", temperature);
    state.options = { ...state.options, temperature };
    show_options(set_option);
    drawing.redraw(true);
  },
  choose_source(at) {
    state.src_at = at;
    drawing.redraw();
  },
  choose_step(step) {
    player.stop();
    set_step(step);
  },
  choose_mode(mode) {
    state.mode = mode;
  },
  toggle_place(place) {
    const { cuts, mode } = state;
    const hidden = cuts.before.includes(place) || cuts.after.includes(place);
    const open = drawing.result.whole.src_tokens.length - cuts.before.length - cuts.after.length;
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
export function change_cuts() {
  state.shown = has_cuts() ? "cut" : "whole";
  touched();
  return session.translate();
}

/** Take another sentence; nothing of it is hidden, for its places are others. */
export function set_sentence(sentence) {
  player.stop();
  state.sentence = sentence;
  state.cuts = { ...no_cuts(), removed: state.cuts.removed };
  state.step = Infinity;
}

/** Take another model, and say what it is. */
export function set_model(name) {
  state.model = name;
  state.cuts = no_cuts();
  state.shown = "whole";
  draw_nothing(); // what stands there is another model's
  const { src_lang, tgt_lang } = models[name];
  state.langs = { src: language_tag(src_lang), tgt: language_tag(tgt_lang) };
  draw_model(name, models[name], type);
}

/** Put a sentence into the box, and translate it. */
export function type(sentence) {
  by_id("sentence").value = sentence;
  set_sentence(sentence);
  touched();
  return session.translate();
}

/** Set one option of the search, and translate with it. */
export function set_option(name, value) {
  state.options = { ...state.options, [name]: value };
  state.step = Infinity;
  show_options(set_option);
  session.translate();
}

/** Note that something was set, and that the line about a link no longer holds. */
export function touched() {
  changes += 1;
  say_ignored([]);
}

/** Say what went wrong, in a line. */
export function tell_error({ message }) {
  say(by_id("error"), message);
  by_id("error").hidden = false;
  clear_remarks();
  by_id("error").scrollIntoView({ block: "nearest" });
}

/** Take down what is drawn. */
function draw_nothing() {
  document.body.classList.remove("old");
  player.stop();
  drawing.clear("");
}

/** Show a step. */
function set_step(step) {
  state.step = step;
  drawing.redraw(true);
}

/** Say what a sentence as it is typed is worth, where the model's training text is known. */
async function tell_remarks(name, sentence) {
  const known = await known_words(name);
  if (name !== state.model || sentence !== state.sentence) return;
  if (known === null || sentence.trim() === "") clear_remarks();
  else draw_remarks(sentence, known, models[name].samples[0], type);
}

/** Return the words of a model's training text; null where they cannot be had, and are asked for again. */
async function known_words(name) {
  const { words: address } = models[name];
  if (!address) return null;
  if (!words.has(name)) words.set(name, fetch_words(address));
  try {
    return await words.get(name);
  } catch {
    words.delete(name); // the network is away
    return null;
  }
}

/** Say in a line what of the link was not used. */
export function say_ignored(ignored) {
  say(by_id("ignored"), describe_ignored(ignored));
  by_id("ignored").hidden = ignored.length === 0;
}

export const drawing = new Drawing(acts, (seen) => followers.forEach((follow) => follow(seen)));

export const session = new Session(engine, models, {
  busy(is_busy) {
    document.body.classList.toggle("busy", is_busy);
    if (!is_busy) document.body.dataset.done = String(Number(document.body.dataset.done ?? 0) + 1);
  },
  slow(is_slow) {
    document.body.classList.toggle("slow", is_slow);
    if (!is_slow) return;
    document.body.classList.toggle("old", by_id("translation").textContent !== "");
    say(by_id("progress-said"), "Reading the sentence.");
  },
  loading: () => say(by_id("status"), "Loading the model."),
  progress: (step, limit) => say(by_id("progress-said"), `Searching: token ${step} of at most ${limit}.`),
  /** Show a model's first translation before its drawing; a later one comes with its own. */
  translated(translation) {
    if (by_id("translation").textContent === "") say(by_id("translation"), translation);
  },
  stopped: () => say(by_id("status"), "Stopped: this is not the sentence's translation."),
  failed(error) {
    tell_error(error);
    draw_nothing();
  },
  found(looked, ways, told) {
    by_id("error").hidden = true;
    document.body.classList.remove("old");
    if (looked === null) player.stop();
    drawing.show(looked, ways, told);
    tell_remarks(state.model, state.sentence);
  },
});

export const player = new Player(
  () => drawing.part.tgt_tokens.length,
  (step) => set_step(step),
  (plays) => say(by_id("play"), plays ? "Pause" : "Play"),
);
