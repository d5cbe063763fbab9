"""A model folder of the course, ready for the laws: its network, its text, its score.

Not in the paper.
"""

from pathlib import Path

from sacrebleu.metrics import BLEU

from transformer.baselines.lstm import Recurrent
from transformer.config import UNK_ID
from transformer.data import corpora
from transformer.diagnostics.adapter import Adapter
from transformer.diagnostics.adapters import from_network, from_transformer
from transformer.diagnostics.pipeline import Pair, Pipeline
from transformer.evaluation.evaluate import default_split
from transformer.trained.translator import Translator


def corpus_bleu(hypotheses: list[str], references: list[str]) -> float:
    """Give the corpus's BLEU in percent (sacreBLEU 13a, as `evaluation.scores` counts it)."""
    return float(BLEU(force=True).corpus_score(hypotheses, [references]).score)


def from_folder(folder: str | Path) -> tuple[Adapter, Pipeline]:
    """Adapt a trained model with its tokenizers.

    The pipeline has no pairs where the corpus cannot be had.

    Args:
        folder: What training left, or the name of a shipped model: "demo-en-fr".

    Raises:
        UserError: the folder or a file in it is missing, truncated or foreign.
    """
    translator = Translator.load(folder)
    model = translator.model
    if isinstance(model, Recurrent):
        sizes = model.src_embedding.num_embeddings, model.output.out_features
        adapter = from_network(model, *sizes)
    else:
        adapter = from_transformer(model)
    return adapter.replace(fresh=False), from_translator(translator)


def from_translator(translator: Translator) -> Pipeline:
    """Show what stands around a model: its tokenizers, its corpus, and the score.

    Args:
        translator: The model.
    """
    data = translator.recipe.data
    languages = data.src_lang, data.tgt_lang
    split = default_split(data.corpus)
    pairs: list[tuple[Pair, ...]] = [(), ()]
    if _is_here(data.corpus, split):
        texts = [corpora.load(data.corpus, each, *languages) for each in ("train", split)]
        pairs = [tuple(zip(text.src, text.tgt, strict=True)) for text in texts]
    return Pipeline(
        train=pairs[0],
        test=pairs[1],
        encode_src=lambda text: translator.src_tokenizer.encode_all([text])[0],  # as training does
        encode_tgt=lambda text: translator.tgt_tokenizer.encode_all([text])[0],
        encode_to_translate=lambda text: translator.encode(text, refuse_long=True),
        decode=translator.tgt_tokenizer.decode,
        score=corpus_bleu,
        unk_id=UNK_ID,
        joint_vocabulary=data.joint_vocabulary,
    )


def _is_here(corpus: str, split: str) -> bool:
    """Tell whether a corpus's training text and a split can be read without a download."""
    others = [each for each in corpora.CORPORA[corpus].splits if each not in ("train", split)]
    return all(
        report.state == corpora.State.OK or any(other in report.name for other in others)
        for report in corpora.verify(corpus)
    )
