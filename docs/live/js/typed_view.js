// What the page says of a sentence that is typed: what the model has never read, what its
// translation is worth, and a sentence that works.

import { by_id, make } from "./dom.js";
import { as_trained, differences_from_training, is_paper_title, unseen_words } from "./typed.js";

const LINE = "remarks";

/** Say nothing of what is typed. */
export function clear_remarks() {
  by_id(LINE).hidden = true;
}

/**
 * Say in a line in what a sentence differs from the model's training text, and offer one that does not.
 * @param {string} sentence As typed.
 * @param {Set<string>} known The training text's words, in lower case.
 * @param {string} sample A sentence that the model translates well.
 * @param {function(string)} type What a press on the offered sentence does with it.
 */
export function draw_remarks(sentence, known, sample, type) {
  const unseen = unseen_words(sentence, known);
  const differences = differences_from_training(sentence, known);
  by_id(LINE).hidden = unseen.length + differences.length === 0;
  if (by_id(LINE).hidden) return;
  const rewritten = as_trained(sentence);
  const works = rewritten !== "" && rewritten !== sentence && unseen_words(rewritten, known).length === 0;
  const offered = works ? rewritten : sample;
  const button = make("button", { type: "button" }, offered);
  button.addEventListener("click", () => type(offered));
  const marked = unseen.flatMap((word, i) => [i ? ", " : "", make("mark", {}, word)]);
  const clauses = differences.length > 0 ? [`It ${join(differences.map(({ clause }) => clause))}. `] : [];
  if (unseen.length > 0) {
    clauses.push(...marked, ": in no sentence that this model was trained on. ");
  }
  const title = is_paper_title(sentence) ? [make("b", {}, "The paper's title! ")] : [];
  by_id(LINE).replaceChildren(...title, ...clauses, worth(sentence, unseen, differences), " Try ", button);
}

/** Return in a sentence what a translation is worth. */
function worth(sentence, unseen, differences) {
  if (is_paper_title(sentence)) {
    return (
      "The model cuts such words into pieces that it knows and writes what its own small world holds: " +
      "attention moves words, but what they mean comes from the training text."
    );
  }
  const is = (worth) => differences.some((difference) => difference.worth === worth);
  if (unseen.length > 0 || is("guess")) return "So the translation is a guess.";
  if (is("first")) return "This model learned from single sentences, and mostly stops after the first.";
  return "Nearly all sentences of the training text are written otherwise: the translation may be worse for it.";
}

/** Return clauses as one: "a, b and c". */
const join = (clauses) =>
  clauses.length === 1 ? clauses[0] : `${clauses.slice(0, -1).join(", ")} and ${clauses.at(-1)}`;
