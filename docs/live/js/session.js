// The page's translations: one runs at a time, the latest setting is what is shown in the end, and a
// search that takes long can be stopped.

import { Stopped } from "./engine.js";
import { fetch_model, forget_model } from "./model_files.js";
import { has_cuts, state } from "./state.js";

const SLOW = 400; // milliseconds after which a search is told of, and what stands there is marked as old
const MAKES_WAY = 1200; // milliseconds after which a search is given up for what is typed meanwhile

export class Session {
  /**
   * @param {Engine} engine The way to the worker.
   * @param {object} models That can be chosen, by name.
   * @param {object} show busy(is_busy), slow(is_slow), loading(), progress(step, limit),
   *   translated(translation), stopped(), failed(error) and found(looked, traced, about): what the
   *   page does of each. `looked` is the worker's (null for a blank sentence), `traced` its ways
   *   through the boxes, whole and cut.
   */
  constructor(engine, models, show) {
    Object.assign(this, { engine, models, show });
    this.ready = new Set(); // names of models that are loaded
    this.opened = new Map(); // what was read of a reader's models, by name
    this.running = null; // a promise, while translations run
    this.again = false; // whether something has changed while one ran
    this.begun = 0; // when the one that runs began
  }

  /** Translate and show; return a promise that is kept once the latest setting is shown. */
  translate() {
    this.again = this.running !== null;
    if (this.again && performance.now() - this.begun > MAKES_WAY) this.stop();
    this.running ??= this._run();
    return this.running;
  }

  /** Give up what runs; the models are read anew when they are asked for. */
  stop() {
    this.engine.stop();
    this.ready.clear();
    // One that is stopped in turn is asked for again by the next stop.
    for (const values of this.opened.values()) this.engine.ask("open", values).catch(() => {});
  }

  /** Load a model that can be chosen, and say so where it takes time; return what the worker says of it. */
  async load(name) {
    const { src_lang, tgt_lang } = this.models[name];
    const values = { name, direction: `${src_lang}-${tgt_lang}` };
    if (!this.ready.has(name)) {
      this.show.loading();
      if (!this.opened.has(name)) values.files = await this.engine.wait_for(fetch_model(name));
    }
    try {
      const about = await this.engine.ask("load", values);
      this.ready.add(name);
      return about;
    } catch (error) {
      if (!(error instanceof Stopped)) forget_model(name);
      throw error;
    }
  }

  /** Take the files of a reader's model; return what the worker says of it. */
  async open(name, folder, files) {
    const values = { name, folder, files };
    const about = await this.engine.ask("open", values).catch((error) => {
      if (!(error instanceof Stopped)) throw error;
      return this.open(name, folder, files); // it waited behind a search that was given up
    });
    this.opened.set(name, values);
    return about;
  }

  /** Translate until nothing has changed meanwhile. */
  async _run() {
    this.show.busy(true);
    const slow = setTimeout(() => this.show.slow(true), SLOW);
    do {
      this.again = false;
      this.begun = performance.now();
      await this._translate_once();
    } while (this.again);
    clearTimeout(slow);
    this.running = null;
    this.show.slow(false);
    this.show.busy(false);
  }

  /** Translate what is typed, with the cuts chosen, and show it. */
  async _translate_once() {
    const { model: name, sentence, options } = state;
    const cuts = has_cuts() ? state.cuts : null;
    try {
      const about = await this.load(name);
      const on_news = ({ step, limit, translation }) => {
        if (translation === undefined) this.show.progress(step, limit);
        else if (name === state.model) this.show.translated(translation);
      };
      const looked = await this.engine.ask("look", { name, sentence, options, cuts }, on_news);
      const traced = looked && { whole: await this._trace(name, looked.whole, null) };
      if (looked?.cut) traced.cut = await this._trace(name, looked.cut, cuts);
      if (name === state.model) this.show.found(looked, traced, about); // else another was chosen
    } catch (error) {
      if (!(error instanceof Stopped)) this.show.failed(error);
      else if (!this.again) this.show.stopped();
    }
  }

  _trace(name, { src, said }, cuts) {
    return this.engine.ask("trace", { name, src, said, cuts });
  }
}
