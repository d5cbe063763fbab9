// Words that a model never read in training: what it makes of them is a guess.

const WORD = /\p{L}[\p{L}\p{M}]*/gu;

/**
 * Return the words of a sentence that stand in no sentence of the training text, each once.
 * @param {string} sentence
 * @param {Set<string>} known The training text's words, in lower case.
 */
export function unseen_words(sentence, known) {
  const words = sentence.match(WORD) ?? [];
  return [...new Set(words)].filter((word) => !known.has(word.toLowerCase()));
}
