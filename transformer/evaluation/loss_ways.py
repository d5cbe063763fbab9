"""One loss averaged in two ways: over tokens, and over batches of sentences of like length.

Not in the paper. System 4 reports the second, and so its perplexity is not of the first kind.
`python -m transformer.evaluation.loss_ways MODEL --record FILE` measures a model.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from transformer.data.batches import collate, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.evaluation.evaluate import record_measure
from transformer.support.errors import UserError, exit_status
from transformer.trained.translator import Translator
from transformer.training.loss import validation_loss

WAYS = ("mean over tokens", "mean over batches")
BATCH_SENTENCES = 128  # of system 4


def loss_two_ways(
    translator: Translator, text: ParallelText, batch_sentences: int = BATCH_SENTENCES
) -> dict[str, float]:
    """Measure the loss, and average it in the two `WAYS`.

    The sentences are sorted by length and cut into batches. Short sentences fill a batch with
    fewer tokens: in the second mean each of their tokens weighs more.

    Args:
        translator: The model.
        text: Sources and references. Pairs with a side longer than the model takes are left out.
        batch_sentences: Of a batch.

    Returns:
        Nats per token, by the name of the way.

    Raises:
        UserError: no pair is left, or a batch would be empty.
    """
    if batch_sentences < 1:
        raise UserError(f"batch_sentences is {batch_sentences}: a batch has one or more")
    longest = translator.recipe.model.max_len
    examples = encode_pairs(translator.src_tokenizer, translator.tgt_tokenizer, text, longest - 1)
    examples = sorted(examples, key=lambda pair: (len(pair.src), len(pair.tgt)))
    losses, tokens = [], []
    for first in range(0, len(examples), batch_sentences):
        batch = examples[first : first + batch_sentences]
        losses.append(validation_loss(translator.model, [collate(batch)], device=translator.device))
        tokens.append(sum(len(pair.tgt) + 1 for pair in batch))  # with eos
    total = sum(loss * count for loss, count in zip(losses, tokens, strict=True))
    return dict(zip(WAYS, (total / sum(tokens), sum(losses) / len(losses)), strict=True))


def record_two_ways(model: str, file: Path) -> dict[str, Any]:
    """Measure a model on its corpus's validation text, and write the figures with their origin.

    Raises:
        UserError: the model or the corpus cannot be had, or the file cannot be written.
    """

    def measure(translator: Translator, text: ParallelText) -> dict[str, Any]:
        losses = loss_two_ways(translator, text)
        perplexities = {way: math.exp(loss) for way, loss in losses.items()}
        return {"batch_sentences": BATCH_SENTENCES, "loss": losses, "perplexity": perplexities}

    return record_measure(model, file, "validation", measure)


def main() -> int:
    """Measure the model named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m transformer.evaluation.loss_ways",
        description="Average one model's loss on its validation text in two ways.",
    )
    parser.add_argument("model", metavar="MODEL", help="a model folder, or a shipped model")
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="JSON to write")
    options = parser.parse_args()
    record = record_two_ways(options.model, options.record)
    print(json.dumps({name: record[name] for name in ("loss", "perplexity")}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
