// What stands above the drawing: which layer it shows, which heads are lit, of which model.

import { by_id, fill_radios, make } from "./dom.js";
import { head_class } from "./flow_view.js";

let filled = ""; // with what the controls were filled last

/**
 * Fill the controls, where they are to show something else.
 * @param {object} state layer, lit, shown.
 * @param {object} about The worker's: num_layers and num_heads of the model.
 * @param {boolean} is_cut Whether anything is taken away.
 * @param {object} act choose_layer, choose_lit, choose_shown: what the controls do.
 */
export function draw_controls(state, { num_layers, num_heads }, is_cut, act) {
  const wanted = JSON.stringify([state.layer, state.lit, state.shown, num_layers, num_heads, is_cut]);
  if (wanted === filled) return;
  filled = wanted;
  const numbers = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
  const layers = numbers(num_layers).map((layer) => [layer, layer]);
  fill_radios(by_id("layer-picker"), layers, String(state.layer), (layer) => act.choose_layer(Number(layer)));
  const heads = numbers(num_heads).map((head) => [
    head,
    make("span", { className: `swatch ${head_class(Number(head))}` }, head),
  ]);
  fill_radios(by_id("lit-picker"), [["0", "all"], ...heads], String(state.lit), (head) => act.choose_lit(Number(head)));
  by_id("shown-picker").hidden = !is_cut;
  const models = [
    ["whole", "whole model"],
    ["cut", "with your cuts"],
  ];
  fill_radios(by_id("shown-picker"), models, state.shown, act.choose_shown);
}
