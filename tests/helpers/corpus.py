"""A corpus of a few words, where the text is not the subject."""

from transformer.data.parallel import ParallelText


def small_corpus(name: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Stand in for a corpus by a few words: what is trained on is not the subject here."""
    size = 199 if split == "train" else 23
    src = [f"word{i % 7} and word{i % 11} are {i % 5}" for i in range(size)]
    tgt = [f"mot{i % 7} et mot{i % 11} sont {i % 5}" for i in range(size)]
    return ParallelText(src_lang=src_lang, tgt_lang=tgt_lang, src=src, tgt=tgt)
