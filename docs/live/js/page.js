// The page: it offers its models, listens to its controls, and shows what its address asks for.

import {
  acts,
  change_cuts,
  drawing,
  models,
  num_changes,
  on_drawn,
  player,
  say_ignored,
  session,
  set_model,
  set_option,
  set_sentence,
  tell_error,
  touched,
  type,
} from "./acts.js";
import { BOXES } from "./boxes.js";
import { copy_link } from "./copy_link.js";
import { by_id, make, say } from "./dom.js";
import { offered } from "./early.js";
import { set_up_embedding } from "./embedding.js";
import { close_card, close_tour, go_to_stop, offer_tour, open_stop } from "./guide.js";
import { fill_models } from "./model_view.js";
import { FILES as MODEL_FILES, MANIFEST } from "./model_files.js";
import { describe_opened } from "./models.js";
import { listen_to_folders } from "./open_folder.js";
import { listen_to_options, show_options } from "./options_view.js";
import { close_panel, listen_to_room } from "./panel_view.js";
import { beyond, cuts_within, read_link } from "./permalink.js";
import { choose_layer, has_cuts, no_cuts, state } from "./state.js";
import { light_tokens } from "./token_buttons.js";
import { listen_to_typing } from "./typing.js";

const FILES = [
  ...["masks", "attention", "feed_forward", "positions", "embeddings", "layers", "model"],
  ...["next_token", "decoding", "sampling", "matrix", "linear", "safetensors", "sha256", "formats"],
  ...["normalizers", "bpe", "translator", "interventions", "trace"],
];
const FIRST_STEP = 3; // that the page opens at, in the midst of a translation
let num_stops = 0; // of the tour

/** Listen to the buttons that stand there from the beginning. */
function listen() {
  const press = (id, act) => by_id(id).addEventListener("click", act);
  by_id("model").addEventListener("change", ({ target }) => {
    close_tour();
    set_model(target.value);
    type(models[target.value].samples[0] ?? "");
  });
  listen_to_typing(by_id("sentence"), (sentence) => {
    set_sentence(sentence);
    touched();
    session.translate();
  });
  listen_to_options(set_option);
  press("draw-again", () => set_option("seed", state.options.seed + 1));
  press("put-back", () => {
    state.cuts = no_cuts();
    change_cuts();
  });
  by_id("step").addEventListener("input", ({ target }) => acts.choose_step(target.valueAsNumber));
  by_id("next-temperature").addEventListener("input", ({ target }) => acts.choose_temperature(target.valueAsNumber));
  press("play", () => player.toggle());
  const step = (by) => acts.choose_step(Number(by_id("step").value) + by);
  press("step-back", () => step(-1));
  press("step-on", () => step(1));
  press("copy", () => {
    drawing.address.now();
    copy_link(state.cuts);
  });
  press("stop-search", () => session.stop());
  const close_box = () => close_panel(() => acts.open_box(null));
  press("panel-close", close_box);
  listen_to_focus();
  listen_to_escape([close_details, close_box, close_card]);
  listen_to_folders([MANIFEST, ...MODEL_FILES], open_model, tell_error);
  listen_to_room(() => drawing.redraw());
  // A link that is put into the address of the open page; the page's own writing does not come here.
  addEventListener("hashchange", () => location.hash.includes("=") && location.reload());
}

/** Close with Escape the first thing that can be closed: each function returns whether it has closed one. */
function listen_to_escape(closing) {
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") closing.some((close) => close());
  });
}

/** Close the details that hold the focus, and return it to their summary; return whether there were any. */
function close_details() {
  const details = document.activeElement?.closest("details[open]");
  if (!details) return false;
  details.open = false;
  details.querySelector("summary").focus();
  return true;
}

/** Close the details that the focus leaves, which would cover what it goes to; the tour's card speaks of them. */
function listen_to_focus() {
  document.addEventListener("focusin", ({ target }) => {
    if (target.closest("#stop")) return;
    for (const details of document.querySelectorAll(".settings details[open]")) {
      if (!details.contains(target)) details.open = false;
    }
  });
}

/** Fill in what is the same for every model and sentence, and begin. */
async function start() {
  // Firefox reads modules from a file, but no models: served.js has said what to do.
  if (location.protocol === "file:") return;
  set_up_embedding(new URLSearchParams(location.search).get("embed"), on_drawn);
  try {
    offer(await offered);
  } catch (error) {
    tell_error(error);
    return;
  }
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
  num_stops = offer_tour();
  say(by_id("terms"), terms ?? "");
  by_id("course").hidden = !course;
  if (course) by_id("course").href = course;
}

/** Take the model of a folder that a reader opened, and choose it. */
async function open_model(folder, files) {
  const name = `${folder} (yours)`; // no model of the list is called so
  const told = await session.open(name, folder, files);
  models[name] = describe_opened(folder, told);
  fill_models(models);
  close_tour();
  set_model(name);
  await type("");
  by_id("sentence").focus();
}

/** Show what the address asks for, and say what of it was not used. */
async function begin(hash) {
  const known = { models, boxes: BOXES, num_stops };
  const ignored = read_link(hash, state, known);
  const asked = structuredClone(state);
  set_model(state.model);
  show_options(set_option);
  if (asked.stop !== null && !new URLSearchParams(hash.slice(1)).has("s")) {
    const going = go_to_stop(asked.stop);
    say_ignored(ignored); // going there has cleared the line
    await going;
    return;
  }
  const mine = num_changes();
  by_id("sentence").value = asked.sentence;
  const sizes = await sizes_of(asked).catch(() => null);
  if (mine !== num_changes()) return; // something else has been set meanwhile
  set_sentence(asked.sentence);
  show_asked(hash, asked, sizes);
  say_ignored(ignored);
  await session.translate();
  if (mine !== num_changes() || drawing.result === null || sizes === null) return;
  if (asked.stop !== null) open_stop(asked.stop);
  const tgt_len = drawing.part.tgt_tokens.length;
  say_ignored([...ignored, ...beyond(hash, asked, { ...sizes, tgt_len })]);
}

/** Return the sizes of what an address asks for: num_layers, num_heads and src_len. */
async function sizes_of({ model: name, sentence }) {
  const { num_layers, num_heads } = await session.load(name);
  const src_len = await session.engine.ask("length", { name, sentence });
  return { num_layers, num_heads, src_len };
}

/** Set what an address asks for, as far as the model and the sentence have it. */
function show_asked(hash, asked, sizes) {
  state.step = hash.includes("=") ? asked.step : FIRST_STEP;
  const has_heads = state.box !== null && BOXES[state.box].head !== undefined;
  choose_layer(has_heads ? asked.head.layer : asked.layer);
  if (sizes !== null) state.cuts = cuts_within(asked.cuts, sizes);
  if (!has_cuts()) return;
  state.shown = asked.shown;
  state.mode = state.cuts.before.length > 0 ? "before" : "after";
}

start();
