// The choice of a model, what it is, and sentences to try with it.

import { by_id, make, say } from "./dom.js";
import { CODES, MODELS } from "./models.js";

/** Fill the list of models. */
export function fill_models() {
  const groups = new Map();
  for (const [name, { languages, group }] of Object.entries(MODELS)) {
    if (!groups.has(group)) groups.set(group, make("optgroup", { label: group }));
    const text = `${languages.join(" to ")} (${name})`;
    groups.get(group).append(make("option", { value: name }, text));
  }
  by_id("model").append(...groups.values());
}

/**
 * Say what a model is, and offer its sentences.
 * @param {string} name
 * @param {function(string)} type What a press on a sentence does with it.
 */
export function draw_model(name, type) {
  const { languages, about, samples } = MODELS[name];
  const [source, target] = languages;
  by_id("model").value = name;
  say(by_id("about"), about);
  say(by_id("sentence-label"), `Sentence in ${source}`);
  say(by_id("translation-label"), `Translation into ${target}`);
  by_id("sentence").lang = CODES[source];
  for (const id of ["translation", "whole", "cut"]) by_id(id).lang = CODES[target];
  const buttons = samples.map((sample) => {
    const button = make("button", { type: "button", lang: CODES[source] }, sample);
    button.addEventListener("click", () => type(sample));
    return button;
  });
  by_id("samples").replaceChildren(...buttons);
}
