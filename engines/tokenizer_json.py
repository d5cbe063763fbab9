"""A tokenizer as a `tokenizer.json` of the library `tokenizers`, with its normalizer.

Not in the paper. Whoever serves a model needs its tokens and nothing else of the course: the
file is read in Python, Rust and JavaScript.
"""

from pathlib import Path

from tokenizers import Regex, decoders, normalizers
from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.normalizers import NFC, Lowercase, Normalizer, Prepend, Replace, Strip
from tokenizers.processors import TemplateProcessing

from transformer.config import EOS_ID, SPECIAL_TOKENS
from transformer.data.normalizers import (
    CHARACTERS_SHAPED_BY_JOINERS,
    DEFAULT_NORMALIZER,
    INVISIBLE_CHARACTERS,
)
from transformer.data.pre_tokenizers import PRE_TOKENIZERS
from transformer.data.tokenizers import BPETokenizer, Tokenizer
from transformer.support.errors import UserError
from transformer.support.files import write_atomically

# The normalizers of `transformer.data.normalizers`. Of the blanks of `str.split`, `\s` lacks four.
_WHITESPACE_NORMALIZERS = [Replace(Regex(r"[\s\x1c-\x1f]+"), " "), Strip()]
_INVISIBLE_REMOVING_NORMALIZERS = [
    Replace(Regex(f"[{INVISIBLE_CHARACTERS}]"), ""),
    Replace(Regex(f"(?<![{CHARACTERS_SHAPED_BY_JOINERS}])[\u200c\u200d]"), ""),
    Replace("\u2011", "-"),
]
_NFC_NORMALIZERS = [*_INVISIBLE_REMOVING_NORMALIZERS, NFC(), *_WHITESPACE_NORMALIZERS]
_GERMAN_NORMALIZERS = [
    *_NFC_NORMALIZERS,
    Replace(Regex("[\u2019\u02bc\u2032\u00b4]"), "'"),
]
_ENGLISH_NORMALIZERS = [*_GERMAN_NORMALIZERS, Replace(Regex("[\u201c\u201d\u201e]"), '"')]
_FRENCH_NORMALIZERS = [
    *_ENGLISH_NORMALIZERS,
    Replace(Regex(r"(?<=[^\s!?:;])\!"), " !"),
    Replace(Regex(r"(?<=[^\s!?:;])\?"), " ?"),
    Replace(Regex(r"(?<=[^\s!?:;]);"), " ;"),
    Replace(Regex(r"(?<=[^\s!?:;]):(?!\d)"), " :"),
]
_NORMALIZERS_BY_NAME: dict[str, list[Normalizer]] = {
    DEFAULT_NORMALIZER: [*_INVISIBLE_REMOVING_NORMALIZERS, *_WHITESPACE_NORMALIZERS],
    "composed": _NFC_NORMALIZERS,
    "german": _GERMAN_NORMALIZERS,
    "english": _ENGLISH_NORMALIZERS,
    "french": _FRENCH_NORMALIZERS,
}


def check_tokenizer_exportable(tokenizer: Tokenizer) -> BPETokenizer:
    """Return the tokenizer if it can be written as a `tokenizer.json`; raise if not."""
    if not isinstance(tokenizer, BPETokenizer):
        raise UserError(
            "this model's tokens are words, which spaCy's rules cut, and no tokenizer.json holds "
            "those: train with --set tokenizer=bpe"
        )
    if tokenizer.normalizer not in _NORMALIZERS_BY_NAME:
        raise UserError(
            f"the normalizer {tokenizer.normalizer!r} is not among those that a tokenizer.json "
            f"can have: {', '.join(_NORMALIZERS_BY_NAME)}; add it in engines/tokenizer_json.py"
        )
    if clash := sorted(set(SPECIAL_TOKENS) & tokenizer.vocabulary.keys()):
        raise UserError(
            f"this model's tokenizer learned the piece {clash[0]!r}, the name of a special token: "
            "train on text without it"
        )
    return tokenizer


def token_names_by_id(tokenizer: BPETokenizer) -> list[str]:
    """Return the name of each id: the special tokens', and pieces in GPT-2's letters of bytes."""
    return [*SPECIAL_TOKENS, *tokenizer.vocabulary]


def write_tokenizer_json(tokenizer: BPETokenizer, max_len: int, path: Path) -> None:
    """Write a tokenizer that encodes a sentence with eos, and decodes ids.

    A sentence with more than `max_len` tokens, eos included, is cut off there. The ids are the
    tokenizer's own, with two exceptions: the library's tables of Unicode may be of another year
    than Python's, and it lower-cases letter by letter, a capital sigma at a word's end too.
    """
    ids = {piece: number for number, piece in enumerate(token_names_by_id(tokenizer))}
    library = Library(BPE(ids, tokenizer.merges))
    steps = list(_NORMALIZERS_BY_NAME[tokenizer.normalizer])
    if tokenizer.lowercase:
        steps.append(Lowercase())
    # Nothing comes before an empty text. A pre-tokenizer that cuts it would take each piece for the
    # text's beginning, and put a blank before that.
    steps.append(Prepend(" "))
    library.normalizer = normalizers.Sequence(steps)
    library.pre_tokenizer = PRE_TOKENIZERS[tokenizer.pre_tokenizer]
    eos = SPECIAL_TOKENS[EOS_ID]
    library.post_processor = TemplateProcessing(
        single=f"$A {eos}", pair=None, special_tokens=[(eos, EOS_ID)]
    )
    # The decoder takes away the blank that the normalizer put before the text.
    library.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    library.enable_truncation(max_len)
    write_atomically(path, library.to_str(pretty=True).encode())
