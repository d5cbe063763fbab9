// The tour at work: it sets the page up for a stop, and does a stop's task.

import {
  drawing,
  models,
  num_changes,
  on_drawn,
  player,
  session,
  set_model,
  set_option,
  set_sentence,
  touched,
} from "./acts.js";
import { by_id } from "./dom.js";
import { show_options } from "./options_view.js";
import * as states from "./state.js";
import { STOPS } from "./tour.js";
import { TourView } from "./tour_view.js";

const { state, no_cuts } = states;
let tour = null;

/** Offer the stops that the page's models can show; return how many there are. */
export function offer_tour() {
  const stops = STOPS.filter(({ model }) => Object.hasOwn(models, model));
  tour = new TourView(stops, { go_to: go_to_stop, close: leave_tour, deed: do_deed });
  on_drawn((seen) => tour.follow(seen));
  return stops.length;
}

/** Set everything up for a stop of the tour. */
export async function go_to_stop(number) {
  const { model, sentence, cuts, head, step, box } = tour.stops[number - 1];
  close_tour();
  if (model !== state.model) set_model(model);
  by_id("sentence").value = sentence;
  set_sentence(sentence);
  state.cuts = { ...no_cuts(), ...structuredClone(cuts ?? {}) };
  state.mode = cuts?.before ? "before" : "after";
  state.lit = 0;
  if (head) states.choose_head(head);
  Object.assign(state, { box, shown: cuts ? "cut" : "whole", step: step ?? Infinity, src_at: 0 });
  state.options = states.usual_options();
  show_options(set_option);
  touched();
  const mine = num_changes();
  await session.translate();
  if (mine === num_changes() && drawing.result !== null) open_stop(number);
}

/** Show a stop's card; the page shows already what it speaks of. */
export function open_stop(number) {
  state.stop = number;
  by_id("options").open = tour.stops[number - 1].target.startsWith("#options");
  drawing.redraw();
  tour.open(number, drawing.seen_now());
}

/** Close the tour's card, for something else is set up. */
export function close_tour() {
  state.stop = null;
  tour?.close();
}

/** Leave the tour, with the page as it is; a link no longer names the stop. */
function leave_tour() {
  close_tour();
  drawing.redraw();
}

/** Close the tour's card with a key; return whether there was one. */
export const close_card = () => tour.leave();

/** Do a part of a stop's task. */
async function do_deed({ sentence, options, cuts, head, plays, ...others }) {
  touched();
  player.stop();
  if (sentence !== undefined) {
    by_id("sentence").value = sentence;
    set_sentence(sentence);
  }
  if (cuts) [state.cuts, state.shown] = [structuredClone(cuts), "cut"];
  if (head) states.choose_head(head);
  Object.assign(state, others);
  if (options) {
    state.options = { ...state.options, ...options };
    show_options(set_option);
  }
  if (sentence !== undefined || options || cuts) await session.translate();
  drawing.redraw();
  if (plays) await player.toggle();
}
