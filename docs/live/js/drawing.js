// What the page draws of a result: everything anew, or what depends on the step and the opened box.

import { draw_box } from "./box_view.js";
import { BOXES } from "./boxes.js";
import { draw_controls } from "./controls_view.js";
import { draw_cuts } from "./cuts_view.js";
import { by_id, say } from "./dom.js";
import { stack_parts } from "./flow_layout.js";
import { draw_box_buttons, draw_flow } from "./flow_view.js";
import { draw_glance, set_up_glance } from "./glance_view.js";
import { draw_heads } from "./heads_view.js";
import { place_panel } from "./panel_view.js";
import { write_link } from "./permalink.js";
import { draw_search } from "./search_view.js";
import { keep_in_range, state } from "./state.js";
import { Throttle } from "./throttle.js";
import { draw_tokens } from "./token_buttons.js";

const SECTIONS = ["architecture", "cuts"];
// Milliseconds between two times that these follow, while one steps: they cost more than all the rest,
// and numbers that come faster cannot be read.
const ADDRESS_PAUSE = 300;
const PANEL_PAUSE = 100;

/** The result that is drawn, and how. */
export class Drawing {
  /**
   * @param {object} acts What the controls do (see acts.js).
   * @param {function(object)} on_drawn Called with what the page shows now (see `seen_now`).
   */
  constructor(acts, on_drawn) {
    Object.assign(this, { acts, on_drawn });
    this.result = null; // of the last translation
    this.traced = null; // its ways through the boxes, whole and cut
    this.about = null; // what the worker says of the model
    this.panel = new Throttle(() => this._draw_panel(), PANEL_PAUSE);
    this.address = new Throttle(() => this._write_address(), ADDRESS_PAUSE);
    set_up_glance(acts.open_head);
  }

  /** Take a result, and draw everything that depends on it. */
  show(result, traced, about) {
    Object.assign(this, { result, traced, about });
    keep_in_range(about);
    if (result === null) {
      this.clear("Type a sentence.");
      return;
    }
    for (const id of SECTIONS) by_id(id).hidden = false;
    const { translation, src_tokens } = result.whole;
    state.src_at = Math.min(state.src_at, src_tokens.length - 1);
    say(by_id("translation"), translation);
    this._say_costs();
    const [encoder, decoder] = ["encoder", "decoder"].map((stack) => stack_parts(stack, about.pre_norm));
    draw_box_buttons({ encoder, decoder }, this.acts.open_box);
    this.redraw();
    draw_cuts(state, result, this.acts);
  }

  /** Hide all but what one needs to go on. */
  clear(status) {
    [this.result, this.traced] = [null, null];
    for (const id of SECTIONS) by_id(id).hidden = true;
    say(by_id("translation"), "");
    say(by_id("status"), status);
  }

  /** Return the part of the result that is shown: the whole model's, or that of the cut one. */
  get part() {
    const { whole, cut } = this.result;
    return state.shown === "cut" && cut !== null ? cut : whole;
  }

  /** Return the way of that part through the boxes. */
  get way() {
    return this.part === this.result.cut ? this.traced.cut : this.traced.whole;
  }

  /** Return that part's tokens: src, tgt, and read, what the decoder has read at each step. */
  get tokens() {
    const { src_tokens: src, tgt_tokens: tgt } = this.part;
    return { src, tgt, read: ["<bos>", ...tgt.slice(0, -1)] };
  }

  /**
   * Draw the tokens' flow, and the box that is open.
   * @param {boolean} is_step Whether nothing but the step has changed: steps come many a second.
   */
  redraw(is_step = false) {
    if (this.result === null) return;
    const { result, way, tokens, about, acts } = this;
    const width = place_panel(state.box);
    draw_controls(state, about, result.cut !== null, acts);
    draw_tokens(state, tokens, acts);
    draw_flow(state, way, tokens, about, width);
    draw_glance(state, way, tokens);
    for (const follower of [this.panel, this.address]) {
      if (is_step) follower.soon();
      else follower.now();
    }
    this.on_drawn(this.seen_now());
  }

  /** Put a link to what the page shows into its address; a browser that has had too many takes the next. */
  _write_address() {
    if (this.result === null) return;
    const step = Math.min(state.step, this.part.tgt_tokens.length);
    try {
      history.replaceState(null, "", write_link({ ...state, step }));
    } catch (error) {
      if (error.name !== "SecurityError") throw error;
    }
  }

  /** Return what the page shows, for the tour's tasks: the state, and what of the result they ask for. */
  seen_now() {
    const { translation, tgt_tokens, hypotheses } = this.part;
    const tgt_len = tgt_tokens.length;
    const step = Math.min(state.step, tgt_len);
    return { ...structuredClone(state), step, tgt_len, translation, hypotheses: hypotheses.map(({ ids }) => ids) };
  }

  /** Fill the panel of the opened box, where one is. */
  _draw_panel() {
    if (this.result === null || state.box === null) return;
    const { head } = BOXES[state.box];
    draw_box(state, this.way, this.tokens, this.about.pre_norm);
    by_id("heads").hidden = head === undefined;
    by_id("search").hidden = state.box !== "output";
    if (head !== undefined) draw_heads(state, this.result, this.acts);
    if (state.box === "output") draw_search(state, this.part);
  }

  /** Say how long the translation took, and how large the model is. */
  _say_costs() {
    const { src_tokens, tgt_tokens, ms } = this.result.whole;
    const { bytes, bits, ms_to_read } = this.about;
    say(
      by_id("status"),
      `${src_tokens.length} tokens in, ${tgt_tokens.length} out, ${Math.round(ms)} ms; ` +
        `model ${(bytes / 1e6).toFixed(1)} MB in ${bits} bits, read in ${Math.round(ms_to_read)} ms`,
    );
  }
}
