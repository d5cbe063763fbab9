"""Text in scripts that leave no blanks between words: Chinese, Japanese, Thai and others.

Not in the paper. Cut at blanks alone, a sentence in such a script is one word.
"""

import re

# Thai and Lao, Tibetan, Burmese, Khmer, kana, and Chinese characters.
_UNSPACED_CHARACTER = (
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_UNIT_PATTERN = re.compile(rf"{_UNSPACED_CHARACTER}|(?:(?!{_UNSPACED_CHARACTER})\S)+")


def split_words_or_characters(text: str) -> list[str]:
    """Cut text at blanks, and into single characters where a script has no blanks."""
    return _UNIT_PATTERN.findall(text)
