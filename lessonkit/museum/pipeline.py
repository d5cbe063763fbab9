"""What stands around the demo's model, right in every line: text, tokens, data, score (§5.1, §6.1).

Not in the paper. The museum's faults of text are edits of this file.
"""

from functools import cache

from sacrebleu.metrics import BLEU

from attention_laws.adapter import Pipeline
from transformer.config import NUM_SPECIAL_TOKENS, UNK_ID
from transformer.data import corpora
from transformer.data.tokenizers import Tokenizer
from transformer.models.folder import read_description
from transformer.support.folders import find_model_folder

TRAIN, TEST = 400, 60  # sentence pairs
SentencePairs = tuple[tuple[str, str], ...]


@cache
def load_tokenizer(model: str) -> Tokenizer:
    """Read the tokenizer of a shipped model."""
    return read_description(find_model_folder(model)).src_tokenizer


@cache
def load_sentence_pairs(split: str, number: int) -> SentencePairs:
    """Read the first sentence pairs of a split."""
    text = corpora.load("embedded", split, "en", "fr")
    return tuple(zip(text.src[:number], text.tgt[:number], strict=True))


def score_bleu(hypotheses: list[str], references: list[str]) -> float:
    """Return the corpus's BLEU in percent."""
    return BLEU(force=True).corpus_score(hypotheses, [references]).score


def decode_target_ids(ids: list[int]) -> str:
    """Return the text of target ids, as it is scored."""
    text = load_tokenizer("demo-en-fr").decode(
        [token for token in ids if token >= NUM_SPECIAL_TOKENS]
    )
    return text


def sound_pipeline() -> Pipeline:
    """Make what stands around the demo's model."""
    encode = load_tokenizer("demo-en-fr").encode
    return Pipeline(
        train=load_sentence_pairs("train", TRAIN),
        test=load_sentence_pairs("test", TEST),
        encode_src=encode,
        encode_tgt=encode,
        encode_to_translate=encode,
        decode=decode_target_ids,
        score=score_bleu,
        unk_id=UNK_ID,
        joint_vocabulary=True,
    )
