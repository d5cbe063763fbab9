// The choice of a model, what it is, and sentences to try with it.

import { by_id, make, say } from "./dom.js";
import { language_name, mark_language } from "./languages.js";

const SOURCE_PLACES = ["sentence", "samples", "src-tokens", "places"];
const TARGET_PLACES = ["translation", "whole", "cut", "tgt-tokens", "hypotheses"];

/** Fill the list of models. */
export function fill_models(models) {
  const groups = new Map();
  for (const [name, { src_lang, tgt_lang, group }] of Object.entries(models)) {
    if (!groups.has(group)) groups.set(group, make("optgroup", { label: group }));
    const text = `${language_name(src_lang)} to ${language_name(tgt_lang)} (${name})`;
    groups.get(group).append(make("option", { value: name }, text));
  }
  by_id("model").replaceChildren(...groups.values());
}

/**
 * Say what a model is, and offer its sentences.
 * @param {string} name
 * @param {object} model What models.json says of it.
 * @param {function(string)} type What a press on a sentence does with it.
 */
export function draw_model(name, { src_lang, tgt_lang, about, samples }, type) {
  by_id("model").value = name;
  say(by_id("about"), about);
  say(by_id("sentence-label"), `Sentence in ${language_name(src_lang)}`);
  say(by_id("translation-label"), `Translation into ${language_name(tgt_lang)}`);
  for (const id of SOURCE_PLACES) mark_language(by_id(id), src_lang);
  for (const id of TARGET_PLACES) mark_language(by_id(id), tgt_lang);
  const buttons = samples.map((sample) => {
    const button = make("button", { type: "button" }, sample);
    button.addEventListener("click", () => type(sample));
    return button;
  });
  by_id("samples").replaceChildren(...buttons);
}
