// The search: the candidates of one step, and what was found.

import { by_id, chance_text, draw_bar, make, readable, say, two_decimals, update_children } from "./dom.js";
import { isolate_bytes } from "./languages.js";

const DOES = {
  beam:
    "The beam considers the best continuations of its prefixes, twice as many as it keeps. A finished " +
    "sentence leaves the beam; the best score wins at the end.",
  draw:
    "One token is drawn by chance among the most probable ones that together reach top-p. Their " +
    "probabilities are those after temperature and top-p; the sum of logs is the model's own.",
};

/**
 * Draw the section.
 * @param {object} state step, from 1; options of the search.
 * @param {object} looked What the shown model's search looked at.
 */
export function draw_search(state, { steps, hypotheses }) {
  say(by_id("search-does"), DOES[state.options.search]);
  const step = Math.min(Math.max(state.step, 1), steps.length);
  draw_candidates(steps[step - 1], step);
  const found = hypotheses.map(({ text, score, finished }) => {
    const about = `score ${two_decimals(score)}${finished ? "" : ", not finished"}`;
    return make("li", {}, make("bdi", {}, text || "(nothing)"), " ", make("span", { className: "small" }, about));
  });
  update_children(by_id("hypotheses"), found);
}

/** Draw the candidates of a step as rows, the best total first. */
function draw_candidates(candidates, step) {
  const rows = candidates.map(({ pieces, log_prob, total, status }) => {
    const chance = Math.exp(log_prob);
    const prefix = pieces.slice(0, -1).join("").replaceAll("▁", " ").trim();
    // Its own direction, so that "<eos>" after Hebrew stays as it is.
    const next = make("b", { dir: "auto" }, readable(pieces.at(-1)));
    return make(
      "tr",
      { className: status },
      make("td", { className: "prefix", dir: "auto" }, isolate_bytes(prefix), " ", next),
      make("td", {}, draw_bar(chance), chance_text(chance)),
      make("td", {}, two_decimals(total)),
      make("td", {}, status),
    );
  });
  const titles = ["Prefix and next token", "its probability", "sum of logs", "status"];
  const table = make(
    "table",
    { className: "candidates" },
    make("caption", { className: "sr" }, `Candidates of step ${step}, the best first`),
    make("thead", {}, make("tr", {}, ...titles.map((t) => make("th", { scope: "col" }, t)))),
    make("tbody", {}, ...rows),
  );
  update_children(by_id("candidates"), [table]);
}
