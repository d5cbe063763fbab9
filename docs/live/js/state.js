// What the page shows: the state that a link restores.

import { BEAM_SIZE, LENGTH_PENALTY } from "./config.js";

/** Return cuts that take nothing away. */
export const no_cuts = () => ({ before: [], after: [], removed: [] });

/** Return the options of the paper's search, and those of a draw. */
export const usual_options = () => ({
  search: "beam",
  beam_size: BEAM_SIZE,
  alpha: LENGTH_PENALTY,
  temperature: 1,
  top_p: 0.9,
  seed: 1,
});

export const state = {
  model: "", // its name among those that can be chosen
  sentence: "",
  langs: { src: "", tgt: "" }, // tags of the model's languages, for browsers
  options: usual_options(),
  cuts: no_cuts(),
  mode: "after",
  box: null, // the opened one; null where none is
  layer: 1, // that is drawn, of both stacks
  head: { stack: "cross", layer: 1, head: 1 }, // whose map is drawn
  lit: 0, // the head whose ribbons are lit; 0 means all
  shown: "whole",
  src_at: 0, // the source token looked at
  step: Infinity, // the target token looked at, from 1; the last where there are fewer
  stop: null, // of the tour, from 1
};

/** Return whether anything is taken away. */
export const has_cuts = () => Object.values(state.cuts).some((list) => list.length > 0);

/** Choose a layer for the drawing and the map. */
export function choose_layer(layer) {
  state.layer = layer;
  state.head = { ...state.head, layer };
}

/** Choose a head for the map, and draw its layer with its ribbons lit. */
export function choose_head(head) {
  state.head = head;
  state.layer = head.layer;
  state.lit = head.head;
}

/** Choose a model's last layer and head where it has fewer than are chosen. */
export function keep_in_range({ num_layers, num_heads }) {
  const { stack, layer, head } = state.head;
  state.head = { stack, layer: Math.min(layer, num_layers), head: Math.min(head, num_heads) };
  state.layer = Math.max(1, Math.min(state.layer, num_layers));
  state.lit = Math.min(state.lit, num_heads);
}
