// The options of the search: shown, typed, and told where they cannot be.

import { by_id, fill_radios, say } from "./dom.js";
import { describe_range, RANGES, read_number } from "./permalink.js";
import { state } from "./state.js";

const FIELDS = { beam_size: "Beam size", alpha: "α", temperature: "Temperature", top_p: "Top-p" };
const WAYS = [
  ["beam", "beam or greedy"],
  ["draw", "draw"],
];

/**
 * Say in the closed line what the search's options are, and show those of its way.
 * @param {function(string, *)} set_option Called with the name and the value of what is chosen.
 */
export function show_options(set_option) {
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

/** Take the numbers that are typed, where the options may be so; else say which they may be. */
export function listen_to_options(set_option) {
  for (const name of Object.keys(FIELDS)) {
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
}
