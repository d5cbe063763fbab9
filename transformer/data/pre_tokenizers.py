"""Pre-tokenizers: where a text is cut before byte-pair encoding, which merges nothing across a cut.

Not in the paper. Both cut as GPT-2 does: into English endings ('s, 'll), letters, digits and other
signs, each with the blank before it.
"""

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split

# GPT-2 counts a vowel sign, a tone mark or another combining mark among the other signs, so that
# words of Hindi, Tamil or Thai are cut at each of them. Here marks, and the joiners between
# letters (U+200C and U+200D), belong to the letter that they follow.
_GPT2_WITH_MARKS_PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}[\p{L}\p{M}\u200c\u200d]*| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
    r"|\s+(?!\S)|\s+"
)

# By the name in a tokenizer's file. A file without one, as earlier ones are, means the default.
DEFAULT_PRE_TOKENIZER = "gpt2"
PRE_TOKENIZER_OF_NEW_VOCABULARIES = "gpt2_with_marks"
PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    DEFAULT_PRE_TOKENIZER: ByteLevel(add_prefix_space=False),
    PRE_TOKENIZER_OF_NEW_VOCABULARIES: Sequence(
        [
            Split(Regex(_GPT2_WITH_MARKS_PATTERN), "isolated"),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
}
