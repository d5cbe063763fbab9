// The page's side of the worker: questions go out, answers come back as promises.

import { UserError } from "./errors.js";

export class Engine {
  constructor() {
    this.waiting = new Map(); // by number of the question
    this.asked = 0;
    this.failure = null; // why there will be no more answers
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }) => this._answer(data));
    this.worker.addEventListener("error", () => this._fail());
  }

  /** Ask the worker, and return a promise of its answer. */
  ask(act, values) {
    if (this.failure !== null) return Promise.reject(this.failure);
    const number = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, act, values });
    });
  }

  _answer({ number, answer, error }) {
    const { resolve, reject } = this.waiting.get(number);
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
