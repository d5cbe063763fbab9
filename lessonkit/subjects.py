"""A model folder of the course, ready for the laws: its network, its text, its score.

Not in the paper.
"""

import argparse
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU
from torch import Tensor

import attention_laws.__main__ as attention_laws_command
from attention_laws import diagnose, diagnose_pipeline
from attention_laws.adapter import Adapter, CachedDecoder, Candidate, Pair, Pipeline
from attention_laws.report import Report
from transformer import decoding
from transformer.config import UNK_ID
from transformer.data import corpora
from transformer.data.corpora import default_test_split
from transformer.lstm import Recurrent
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator


def from_transformer(model: Transformer) -> Adapter:
    """Adapt the package's Transformer, with all that it can be asked."""
    tied = ["output.weight", "tgt_embedding.token.weight"] if model.config.tie_softmax else []
    if model.config.tie_source_target:
        tied = [*(tied or ["tgt_embedding.token.weight"]), "src_embedding.token.weight"]
    sizes = model.src_embedding.token.num_embeddings, model.output.out_features
    return from_network(model, *sizes).replace(
        attention=lambda src, tgt_in: {
            f"{stack} {layer}": weights
            for stack, layers in model.attention_maps(src, tgt_in)._asdict().items()
            for layer, weights in enumerate(layers)
        },
        d_model=model.config.d_model,
        declared_tied=(tuple(tied),) if tied else (),
    )


def from_network(model: Any, src_vocab_size: int, tgt_vocab_size: int) -> Adapter:
    """Adapt a module with `forward(src, tgt_in)` that is a `decoding.EncoderDecoder`, too."""

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
        return [each.ids for each in decoding.greedy_search(model, src, max_len=length)]

    def beam(src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        found = decoding.beam_search(model, src, beam_size=beam_size, alpha=0.0, max_len=length)
        return [[Candidate(*each) for each in row] for row in found]

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
        rank=lambda log_prob, length: log_prob / decoding.length_penalty(length),
    )


def corpus_bleu(hypotheses: list[str], references: list[str]) -> float:
    """Give the corpus's BLEU in percent (sacreBLEU 13a, as `evaluation.scores` counts it)."""
    return float(BLEU(force=True).corpus_score(hypotheses, [references]).score)


def from_folder(folder: str | Path) -> tuple[Adapter, Pipeline]:
    """Adapt a trained model with its tokenizers.

    The folder is what training left, or the name of a shipped model: "demo-en-fr". The pipeline has
    no pairs where the corpus cannot be had.
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
    """Show what stands around a model: its tokenizers, its corpus, and the score."""
    data = translator.recipe.data
    languages = data.src_lang, data.tgt_lang
    split = default_test_split(data.corpus)
    pairs: list[tuple[Pair, ...]] = [(), ()]
    if _is_here(data.corpus, split):
        texts = [corpora.load(data.corpus, each, *languages) for each in ("train", split)]
        pairs = [tuple(zip(text.src, text.tgt, strict=True)) for text in texts]
    return Pipeline(
        train=pairs[0],
        test=pairs[1],
        encode_src=lambda text: translator.src_tokenizer.encode_all([text])[0],  # as training does
        encode_tgt=lambda text: translator.tgt_tokenizer.encode_all([text])[0],
        encode_to_translate=translator.encode,
        decode=translator.tgt_tokenizer.decode,
        score=corpus_bleu,
        unk_id=UNK_ID,
        joint_vocabulary=data.joint_vocabulary,
    )


def _is_here(corpus: str, split: str) -> bool:
    """Tell whether a corpus's training text and a split can be read without a download."""
    others = set(corpora.CORPORA[corpus].splits) - {"train", split}
    return all(
        right or any(other in file.name for other in others)
        for file, right in corpora.verify(corpus).items()
    )


def diagnose_target(options: argparse.Namespace) -> int:
    """Try the laws on a folder or on code, as the command `diagnose` does, and print the report."""
    if ":" in options.target and not Path(options.target).is_dir():  # as C:\runs\demo
        flags = ["--minute"] * options.minute + ["--json"] * options.json
        flags += ["--length-first"] * options.length_first
        for name in ("pad", "bos", "eos"):
            if (number := getattr(options, name)) is not None:
                flags.append(f"--{name}={number}")
        return attention_laws_command.main([*flags, options.target])
    adapter, pipeline = from_folder(options.target)
    reports = diagnose(adapter, minute=options.minute), diagnose_pipeline(pipeline)
    lines = tuple(line for report in reports for line in report.lines)
    first = reports[0]
    report = Report(lines, first.assumptions, first.tolerance, first.stopped)
    print(report.to_json() if options.json else report)
    return report.exit_status
