"""The course's models as adapters, ready for the laws: a network, its text, its score.

Not in the paper.
"""

from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU
from torch import Tensor

from attention_laws.adapter import Adapter, CachedDecoder, Candidate, Pipeline, TextPair
from transformer import decoding
from transformer.config import UNK_ID, ModelConfig
from transformer.data import corpora
from transformer.data.corpora import default_test_split
from transformer.decoder_only import DecoderOnly
from transformer.lstm import Recurrent
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator


def adapt_transformer(model: Transformer) -> Adapter:
    """Return the adapter of the package's Transformer, with all that it can be asked."""

    def attention(src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        maps = model.attention_maps(src, tgt_in)._asdict()
        return {
            f"{stack} {layer}": weights
            for stack, layers in maps.items()
            for layer, weights in enumerate(layers)
        }

    tied = _tied_parameter_names(model.config)
    src_vocab_size = model.src_embedding.token.num_embeddings
    return adapt_network(model, src_vocab_size, model.output.out_features).replace(
        attention=attention,
        d_model=model.config.d_model,
        declared_tied=(tied,) if tied else (),
    )


def _tied_parameter_names(config: ModelConfig) -> tuple[str, ...]:
    """Return the names of the parameters that are one (§3.4); none if nothing is tied."""
    tied = []
    if config.tie_softmax:
        tied.append("output.weight")
    if config.tie_softmax or config.tie_source_target:
        tied.append("tgt_embedding.token.weight")
    if config.tie_source_target:
        tied.append("src_embedding.token.weight")
    return tuple(tied)


def adapt_network(model: Any, src_vocab_size: int, tgt_vocab_size: int) -> Adapter:
    """Return the adapter of a module with `forward(src, tgt_in)`, a `decoding.EncoderDecoder`."""

    def start(src: Tensor) -> Any:
        mask = padding_mask(src)
        return [model.encode(src, mask), mask, model.new_cache()]

    def step(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        memory, mask, layers = cache
        return model.decode(tokens, memory, mask, layers)[:, -1], cache

    def reorder(cache: Any, rows: Tensor) -> Any:
        memory, mask, layers = cache
        layers.select(rows)
        return [memory[rows], mask[rows], layers]

    def greedy(src: Tensor, length: int) -> list[list[int]]:
        hypotheses = decoding.greedy_search(model, src, max_len=length)
        return [hypothesis.ids for hypothesis in hypotheses]

    def beam(src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        found = decoding.beam_search(model, src, beam_size=beam_size, alpha=0.0, max_len=length)
        return [[Candidate(*hypothesis) for hypothesis in sentence] for sentence in found]

    return Adapter(
        forward=model,
        module=model,
        src_vocab_size=src_vocab_size,
        tgt_vocab_size=tgt_vocab_size,
        encode=lambda src: model.encode(src, padding_mask(src)),
        decode=lambda tgt_in, memory, src: model.decode(tgt_in, memory, padding_mask(src)),
        cached=CachedDecoder(start=start, step=step, reorder=reorder),
        greedy=greedy,
        beam=beam,
        candidate_score=lambda log_prob, length: log_prob / decoding.length_penalty(length),
    )


def corpus_bleu(hypotheses: list[str], references: list[str]) -> float:
    """Return the corpus's BLEU in percent (sacreBLEU 13a, as `evaluation.scores` counts it)."""
    return float(BLEU(force=True).corpus_score(hypotheses, [references]).score)


def adapt_folder(folder: str | Path) -> tuple[Adapter, Pipeline]:
    """Return the adapter of a trained model, and that of its tokenizers and corpus.

    The folder is what training left, or the name of a shipped model: "demo-en-fr". The pipeline has
    no pairs if the corpus cannot be read without a download.
    """
    translator = Translator.load(folder)
    model = translator.model
    if isinstance(model, DecoderOnly):
        adapter = adapt_network(model, model.output.out_features, model.output.out_features)
    elif isinstance(model, Recurrent):
        src_vocab_size = model.src_embedding.num_embeddings
        adapter = adapt_network(model, src_vocab_size, model.output.out_features)
    else:
        adapter = adapt_transformer(model)
    return adapter.replace(untrained=False), pipeline_of_translator(translator)


def pipeline_of_translator(translator: Translator) -> Pipeline:
    """Return what stands around a model: its tokenizers, its corpus, and the score."""
    data = translator.recipe.data
    train: tuple[TextPair, ...] = ()
    test: tuple[TextPair, ...] = ()
    # A user's own corpus need not be on the computer that its model is on.
    if corpora.is_corpus(data.corpus):
        test_split = default_test_split(data.corpus)
        if _is_readable_without_download(data.corpus, test_split):
            train = _load_sentence_pairs(translator, "train")
            test = _load_sentence_pairs(translator, test_split)
    return Pipeline(
        train=train,
        test=test,
        encode_src=lambda text: translator.src_tokenizer.encode_all([text])[0],  # as training does
        encode_tgt=lambda text: translator.tgt_tokenizer.encode_all([text])[0],
        encode_to_translate=translator.encode,
        decode=translator.tgt_tokenizer.decode,
        score=corpus_bleu,
        unk_id=UNK_ID,
        joint_vocabulary=data.joint_vocabulary,
    )


def _load_sentence_pairs(translator: Translator, split: str) -> tuple[TextPair, ...]:
    """Return the pairs of a split of the corpus that a model was trained on."""
    data = translator.recipe.data
    text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
    return tuple(zip(text.src, text.tgt, strict=True))


def _is_readable_without_download(corpus: str, split: str) -> bool:
    """Return whether a corpus's training text and a split can be read without a download."""
    other_splits = set(corpora.find_corpus(corpus).splits) - {"train", split}
    return all(
        is_right or any(other in file.name for other in other_splits)
        for file, is_right in corpora.is_intact_by_file(corpus).items()
    )
