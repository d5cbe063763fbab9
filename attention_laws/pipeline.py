"""What stands around a model: text to ids and back, the data, the score (not in the paper).

A `Pipeline` is to the laws of data and scores what an `Adapter` is to those of the network.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attention_laws.ids import BOS_ID, EOS_ID, PAD_ID

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """How text becomes ids, ids become text, and text a score.

    Attributes:
        train: Pairs of texts that the model learns from, source and target, as the corpus has
            them.
        test: Pairs that it is judged by.
        encode_src: Ids of a source, as in training.
        encode_tgt: Ids of a target, as in training.
        encode_to_translate: Ids of a source, as when somebody translates.
        decode: The text that is scored, of target ids as a search gives them: bos, eos and
            padding may be among them.
        score: `score(hypotheses, references)` is the corpus's BLEU in percent.
        pad_id: Padding; None where there is none.
        bos_id: Begins each target.
        eos_id: Ends each sentence.
        unk_id: What unknown words become; None where nothing is unknown.
        joint_vocabulary: Whether both sides have the same ids, so that `decode` reads sources too.
    """

    train: Sequence[Pair] = ()
    test: Sequence[Pair] = ()
    encode_src: Callable[[str], list[int]] | None = None
    encode_tgt: Callable[[str], list[int]] | None = None
    encode_to_translate: Callable[[str], list[int]] | None = None
    decode: Callable[[list[int]], str] | None = None
    score: Callable[[list[str], list[str]], float] | None = None
    pad_id: int | None = PAD_ID
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID
    unk_id: int | None = None
    joint_vocabulary: bool = False

    def replace(self, **changes: Any) -> "Pipeline":
        """Give a pipeline that differs in these attributes."""
        return replace(self, **changes)

    def without_marks(self, ids: list[int]) -> list[int]:
        """Leave out bos, eos and padding."""
        return [each for each in ids if each not in (self.pad_id, self.bos_id, self.eos_id)]
