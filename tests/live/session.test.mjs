// The page's side of its worker: node --test tests/live/session.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { Engine } from "../../docs/live/js/engine.js";
import { Session } from "../../docs/live/js/session.js";

/** Workers that were started, the last one the one that lives: what each was asked, and how it answers. */
const workers = [];
globalThis.Worker = class {
  constructor() {
    this.asked = [];
    workers.push(this);
  }
  addEventListener(kind, listener) {
    if (kind === "message") this.answer = (number, answer) => listener({ data: { number, answer } });
  }
  postMessage(question) {
    this.asked.push(question);
  }
  terminate() {}
};

test("a folder that is opened while a search is stopped is read by the next worker", async () => {
  const session = new Session(new Engine(), {}, {});
  const opening = session.open("mine (yours)", "mine", {});
  session.stop();
  session.stop();
  await new Promise((resolve) => setTimeout(resolve)); // what was given up is asked for again
  const { asked, answer } = workers.at(-1);
  assert.deepEqual(asked.map(({ act }) => act), ["open"]);
  answer(asked[0].number, "what the worker says of it");
  assert.equal(await opening, "what the worker says of it");
});
