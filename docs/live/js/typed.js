// What a typed sentence's translation is worth: whether the model has read its words, and sentences
// written as it is.

const WORD = /\p{L}[\p{L}\p{M}]*/gu;
const SENTENCE_END = /[.!?…。！？]+["'”’»)\]]*/u;
const ENDS = new RegExp(`${SENTENCE_END.source}$`, "u");
const NUMBERS = "0"; // among the known words, where the training text holds figures
const PAPER_TITLE = "attention is all you need";

/**
 * Return the words of a sentence that stand in no sentence of the training text, each once.
 * @param {string} sentence
 * @param {Set<string>} known The training text's words, in lower case.
 */
export function unseen_words(sentence, known) {
  const words = sentence.match(WORD) ?? [];
  return [...new Set(words)].filter((word) => !known.has(word.toLowerCase()));
}

/** Return the sentences of a text, each with its end; a text without one is a sentence. */
export function split_sentences(text) {
  const ends = new RegExp(`.*?${SENTENCE_END.source}(?=\\s|$)|.+$`, "gsu");
  return (text.match(ends) ?? []).map((part) => part.trim()).filter((part) => part !== "");
}

/** Return whether a text of more than three letters is written in capitals alone. */
function is_in_capitals(text) {
  const letters = text.match(/\p{L}/gu) ?? [];
  const has_case = text.toLowerCase() !== text.toUpperCase();
  return has_case && letters.length > 3 && text === text.toUpperCase();
}

/** Return the first sentence of a text as the training texts write theirs. */
export function as_trained(text) {
  const plain = text.replace(/[\p{Extended_Pictographic}\u{FE0F}\u{200D}]/gu, "").replace(/\s+/g, " ").trim();
  let first = split_sentences(plain)[0] ?? "";
  if (is_in_capitals(first)) first = first.toLowerCase();
  const end = ENDS.test(first) ? "" : ".";
  return first === "" ? "" : first[0].toUpperCase() + first.slice(1) + end;
}

/** What may be unlike the sentences of a training text: the clause that says it, and what a translation is worth for it. */
const DIFFERENCES = {
  several_sentences: { clause: (count) => `holds ${count} sentences`, worth: "first" },
  capitals: { clause: () => "is all in capitals", worth: "guess" },
  lower_case: { clause: () => "begins in lower case", worth: "worse" },
  no_full_stop: { clause: () => "has no full stop", worth: "worse" },
  picture: { clause: () => "has a picture in it", worth: "guess" },
  number: { clause: () => "has a number in it", worth: "guess" },
};

/**
 * Return in what a typed text differs from the sentences of the training text: of each difference its
 * kind, its clause, and what a translation is worth for it: "first" (the first sentence's alone),
 * "guess" or "worse".
 *
 * Only for models whose training text's words are listed: of others nobody knows how it is written.
 * @param {string} text
 * @param {Set<string>} known The training text's words, in lower case.
 */
export function differences_from_training(text, known) {
  const sentences = split_sentences(text);
  const first = /\p{L}/u.exec(text)?.[0] ?? "";
  const in_capitals = is_in_capitals(text);
  const found = {
    several_sentences: sentences.length > 1,
    capitals: in_capitals,
    lower_case: !in_capitals && first !== first.toUpperCase(),
    no_full_stop: !ENDS.test(text.trim()),
    picture: /\p{Extended_Pictographic}/u.test(text),
    number: /\p{Nd}/u.test(text) && !known.has(NUMBERS),
  };
  const kinds = Object.keys(DIFFERENCES).filter((kind) => found[kind]);
  return kinds.map((kind) => {
    const { clause, worth } = DIFFERENCES[kind];
    return { kind, clause: clause(sentences.length), worth };
  });
}

/** Return whether a text is the paper's title. */
export const is_paper_title = (text) =>
  (text.toLowerCase().match(WORD) ?? []).join(" ") === PAPER_TITLE;
