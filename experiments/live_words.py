"""The words that a model has read, for the page that translates in the browser.

Not in the paper. The page marks a typed word that is none of them, and a number where the text has
none.
"""

import re
from pathlib import Path

from transformer.data import corpora
from transformer.models.translator import Translator
from transformer.support.files import write_atomically

WORD_PATTERN = re.compile(r"[^\W\d_]+")  # as docs/live/js/typed.js finds words
FIGURE_PATTERN = re.compile(r"\d")
NUMBERS = "0"  # stands in the list for all numbers


def write_training_source_words(model: str, file: Path) -> None:
    """Write the words of a model's training source, in lower case, one a line, sorted.

    Where the source holds figures, the first line is `NUMBERS`.
    """
    data = Translator.load(model).recipe.data
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang).src
    words = {word.lower() for sentence in text for word in WORD_PATTERN.findall(sentence)}
    if any(map(FIGURE_PATTERN.search, text)):
        words.add(NUMBERS)
    write_atomically(file, ("\n".join(sorted(words)) + "\n").encode())
