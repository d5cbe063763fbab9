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

/**
 * Return in what a typed text differs from the sentences of the training text, a clause each.
 *
 * Only for models whose training text's words are listed: of others nobody knows how it is written.
 * @param {string} text
 * @param {Set<string>} known The training text's words, in lower case.
 */
export function differences_from_training(text, known) {
  const sentences = split_sentences(text);
  const first = /\p{L}/u.exec(text)?.[0] ?? "";
  const found = [];
  if (sentences.length > 1) found.push(`holds ${sentences.length} sentences`);
  if (is_in_capitals(text)) found.push("is all in capitals");
  else if (first !== first.toUpperCase()) found.push("begins in lower case");
  if (!ENDS.test(text.trim())) found.push("has no full stop");
  if (/\p{Extended_Pictographic}/u.test(text)) found.push("has a picture in it");
  if (/\p{Nd}/u.test(text) && !known.has(NUMBERS)) found.push("has a number in it");
  return found;
}

/** Return whether a text is the paper's title. */
export const is_paper_title = (text) =>
  (text.toLowerCase().match(WORD) ?? []).join(" ") === PAPER_TITLE;
