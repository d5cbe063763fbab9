// The page's side of the worker: questions go out, answers come back as promises.

import { UserError } from "./errors.js";

/** What a question that was given up is answered with. */
export class Stopped extends Error {}

export class Engine {
  constructor() {
    this.asked = 0;
    this._start();
  }

  /**
   * Ask the worker, and return a promise of its answer.
   * @param {string} act One of the worker's.
   * @param {object} values What it is given.
   * @param {?function(object)} on_news Called while it searches, with the step and the limit, the most
   *   that there can be; and with the translation, once that is found.
   */
  ask(act, values, on_news = null) {
    if (this.failure !== null) return Promise.reject(this.failure);
    const number = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject, on_news });
      this.worker.postMessage({ number, act, values });
    });
  }

  /** Return a promise that settles as another does, unless all questions are given up before. */
  wait_for(promise) {
    const number = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject, on_news: null });
      const { waiting } = this;
      promise.then(resolve, reject).finally(() => waiting.delete(number));
    });
  }

  /** Give up all questions, and begin anew: what the worker had loaded is gone. */
  stop() {
    this.worker.terminate();
    const given_up = this.waiting;
    this._start();
    for (const { reject } of given_up.values()) reject(new Stopped());
  }

  _start() {
    this.waiting = new Map(); // by number of the question
    this.failure = null; // why there will be no more answers
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }) => this._answer(data));
    this.worker.addEventListener("error", () => this._fail());
  }

  _answer({ number, answer, error, news }) {
    const { resolve, reject, on_news } = this.waiting.get(number);
    if (news !== undefined) {
      on_news?.(news);
      return;
    }
    this.waiting.delete(number);
    if (error === undefined) resolve(answer);
    else reject(new UserError(error));
  }

  _fail() {
    this.failure = new UserError(
      "The page's worker did not start: use a browser of 2023 or later, and load the page again.",
    );
    for (const { reject } of this.waiting.values()) reject(this.failure);
    this.waiting.clear();
  }
}
