"""Try the laws on public encoder-decoders, as docs/found.md reports them.

Not in the paper, and in no record: none of that code is here. FOLDER holds a clone of each
repository under its name, OWNER+NAME: `python experiments/laws/public_code.py FOLDER OWNER+NAME`.
"""

import argparse
import ast
import importlib
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws import Adapter, CachedDecoder, diagnose
from attention_laws.bare_module import adapter_from_module
from attention_laws.older_code import use_cpu_for_cuda

# Small, since the laws are about code and not about size.
SRC_TYPES, TGT_TYPES, D_MODEL, D_FF, HEADS, LAYERS = 23, 29, 32, 64, 4, 2
# What d2l's chapter on the Transformer takes from the book's package, and what it defines itself.
D2L_PACKAGE_NAMES = (
    "masked_softmax",
    "DotProductAttention",
    "MultiHeadAttention",
    "PositionalEncoding",
    "AttentionDecoder",
)
D2L_PAGE_NAMES = (
    "PositionWiseFFN",
    "AddNorm",
    "TransformerEncoderBlock",
    "TransformerEncoder",
    "TransformerDecoderBlock",
    "TransformerDecoder",
)
# A folder of a repository that holds much else.
ALADDINPERSSON = "aladdinpersson+Machine-Learning-Collection/ML/Pytorch/more_advanced"


def make_arxyzan(folder: Path) -> nn.Module:
    """Return the `Transformer` of model.py."""
    module: Any = import_from(folder, "model")
    sizes = (D_MODEL, LAYERS, HEADS, D_FF, 100, 0.1, "cpu")
    made: nn.Module = module.Transformer(SRC_TYPES, TGT_TYPES, 1, 1, *sizes)
    return made


def make_sam_lynn_evans(folder: Path) -> nn.Module:
    """Return the `Transformer` of Models.py, its matrices drawn as its `get_model` draws them."""
    module: Any = import_from(folder, "Models")
    made: nn.Module = module.Transformer(SRC_TYPES, TGT_TYPES, D_MODEL, LAYERS, HEADS, 0.1)
    for weight in made.parameters():
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight)
    return made


def make_jadore801120(folder: Path) -> Adapter:
    """Return the model with the decoding of its `Translator`, in log-probabilities."""
    models: Any = import_from(folder, "transformer.Models")
    translator: Any = import_from(folder, "transformer.Translator")
    sizes = {"d_word_vec": D_MODEL, "d_model": D_MODEL, "d_inner": D_FF, "n_head": HEADS}
    model = models.Transformer(TGT_TYPES, TGT_TYPES, 1, 1, n_layers=LAYERS, d_k=8, d_v=8, **sizes)
    search = translator.Translator(model, 4, 20, 1, 1, 2, 3)

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits: Tensor = model(src, tgt_in).view(*tgt_in.shape, -1)
        return logits.log_softmax(dim=-1)

    def decode(tgt_in: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        probabilities: Tensor = search._model_decode(tgt_in, memory, models.get_pad_mask(src, 1))
        return probabilities.log()

    return Adapter(
        forward=forward,
        module=model,
        src_vocab_size=TGT_TYPES,
        tgt_vocab_size=TGT_TYPES,
        pad_id=1,
        encode=lambda src: model.encoder(src, models.get_pad_mask(src, 1))[0],
        decode=decode,
    )


def make_devjwsong(folder: Path) -> Adapter:
    """Return the model, which takes sentences of one length, and the loss of its main.py."""
    length = 24
    constants: Any = import_from(folder / "src", "constants")
    constants.seq_len, constants.d_model, constants.d_ff = length, D_MODEL, D_FF
    constants.num_heads, constants.num_layers, constants.d_k = HEADS, LAYERS, D_MODEL // HEADS
    module: Any = import_from(folder / "src", "transformer")
    model = module.Transformer(SRC_TYPES, TGT_TYPES)
    criterion = nn.NLLLoss()

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        padded = [nn.functional.pad(ids, (0, length - ids.shape[1])) for ids in (src, tgt_in)]
        causal = torch.ones(1, length, length, dtype=torch.bool).tril()
        masks = [(ids != 0).unsqueeze(1) for ids in padded]
        logits: Tensor = model(*padded, masks[0], masks[1] & causal)
        return logits[:, : tgt_in.shape[1]]

    return Adapter(
        forward=forward,
        module=model,
        src_vocab_size=SRC_TYPES,
        tgt_vocab_size=TGT_TYPES,
        loss=lambda logits, tgt_out: criterion(logits.flatten(end_dim=1), tgt_out.flatten()),
    )


def make_feather_ai(folder: Path) -> nn.Module:
    """Return the `Transformer` of layers/ with its efficient attention."""
    module: Any = import_from(folder, "layers.transformers")
    sizes = (D_MODEL, D_FF, LAYERS, HEADS, 1, 1, 0.1, "cpu")
    made: nn.Module = module.Transformer(SRC_TYPES, TGT_TYPES, *sizes, efficient_mha=True)
    return made


def make_tanjeffreyz(folder: Path) -> Adapter:
    """Return the `Transformer` of modules/, and the loss of its train.py."""
    module: Any = import_from(folder, "modules.transformer")
    model = module.Transformer(D_MODEL, SRC_TYPES, TGT_TYPES, 1, 1, HEADS, LAYERS)
    criterion = nn.CrossEntropyLoss()
    return adapter_from_module(model).replace(
        loss=lambda logits, tgt_out: criterion(logits.flatten(end_dim=1), tgt_out.flatten())
    )


def make_dreamgonfly(folder: Path) -> Adapter:
    """Return the model of models.py, and the cache that predictors.py decodes with."""
    module: Any = import_from(folder, "models")
    masks: Any = import_from(folder, "utils.pad")
    sizes = {"d_model": D_MODEL, "layers_count": LAYERS, "heads_count": HEADS, "d_ff": D_FF}
    config = {"positional_encoding": True, "dropout_prob": 0.1, **sizes}
    model = module.build_model(config, SRC_TYPES, TGT_TYPES)

    def start(src: Tensor) -> Any:
        memory = model.encoder(src, masks.pad_masking(src, src.shape[1]))
        return memory, masks.pad_masking(src, 1), model.decoder.init_decoder_state()

    def step(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        memory, memory_mask, state = cache
        logits, state = model.decoder(tokens, memory, memory_mask, state=state)
        return logits[:, -1], (memory, memory_mask, state)

    return adapter_from_module(model).replace(cached=CachedDecoder(start=start, step=step))


def make_sooftware(folder: Path) -> nn.Module:
    """Return the `Transformer` of transformer.py, whose decoder leaves out eos, 3 here."""
    module: Any = import_from(folder, "transformer")
    sizes = (D_MODEL, D_FF, HEADS, LAYERS, LAYERS, 0.1)
    made: nn.Module = module.Transformer(SRC_TYPES, TGT_TYPES, *sizes, sos_id=2, eos_id=3)
    return made


def make_p3n9w31(folder: Path) -> nn.Module:
    """Return the `AttModel` of AttModel.py with its learned positions."""
    return _make_att_model(folder)


def make_leviswind(folder: Path) -> nn.Module:
    """Return the `AttModel` of AttModel.py, written for a GPU and for torch 0.3.

    Its embeddings call a function that torch has under another name today.
    """
    use_cpu_for_cuda()
    lookup = SimpleNamespace(apply=lambda ids, table, *_: nn.functional.embedding(ids, table))
    backend = SimpleNamespace(Embedding=lookup)
    modules: Any = import_from(folder, "modules")
    for kind in (modules.embedding, modules.positional_encoding):
        kind._backend = backend
    return _make_att_model(folder)


def _make_att_model(folder: Path) -> nn.Module:
    module: Any = import_from(folder, "AttModel")
    hyperparameters: Any = import_from(folder, "hyperparams").Hyperparams
    sizes = {"hidden_units": D_MODEL, "num_blocks": LAYERS, "num_heads": HEADS, "maxlen": 50}
    for name, value in {**sizes, "dropout_rate": 0.1}.items():
        setattr(hyperparameters, name, value)
    made: nn.Module = module.AttModel(hyperparameters, SRC_TYPES, TGT_TYPES)
    return made


def make_aladdinpersson_seq2seq(folder: Path) -> nn.Module:
    """Return the `Transformer` of seq2seq_transformer.py, with the sizes that the script has.

    The class alone is read from the file, which trains as it is imported.
    """
    names: dict[str, Any] = {"torch": torch, "nn": nn}
    _run_definitions(folder / "seq2seq_transformer.py", ("Transformer",), names)
    forward_expansion, max_len = 4, 100
    sizes = (HEADS, LAYERS, LAYERS, forward_expansion, 0.1, max_len, "cpu")
    made: nn.Module = names["Transformer"](D_MODEL, SRC_TYPES, TGT_TYPES, 1, *sizes)
    return made


def make_aladdinpersson_from_scratch(folder: Path) -> nn.Module:
    """Return the `Transformer` of transformer_from_scratch.py."""
    module: Any = import_from(folder, "transformer_from_scratch")
    sizes = {"embed_size": D_MODEL, "num_layers": LAYERS, "heads": HEADS, "dropout": 0.1}
    made: nn.Module = module.Transformer(SRC_TYPES, TGT_TYPES, 0, 0, **sizes)
    return made


def make_tunz(folder: Path) -> nn.Module:
    """Return the `Transformer` of model/transformer.py, which shifts its target itself."""
    module: Any = import_from(folder, "model.transformer")
    sizes = {"n_layers": LAYERS, "hidden_size": D_MODEL, "filter_size": D_FF}
    options = {"share_target_embedding": False, "src_pad_idx": 0, "trg_pad_idx": 0}
    made: nn.Module = module.Transformer(SRC_TYPES, TGT_TYPES, **sizes, **options)
    return made


def make_d2l(folder: Path) -> Adapter:
    """Return the encoder and decoder of the chapter on the Transformer, as its page defines them.

    What the page takes from the book's package is read from d2l/torch.py, class by class: the
    package itself imports a dozen libraries.
    """
    names: dict[str, Any] = {"torch": torch, "nn": nn, "math": math}
    names["d2l"] = SimpleNamespace(
        Module=nn.Module,
        Encoder=nn.Module,
        Decoder=nn.Module,
        zeros=torch.zeros,
        arange=torch.arange,
    )
    page = folder / "chapter_attention-mechanisms-and-transformers" / "transformer.md"
    files = {folder / "d2l" / "torch.py": D2L_PACKAGE_NAMES, page: D2L_PAGE_NAMES}
    for file, wanted in files.items():
        _run_definitions(file, wanted, names)
        # What follows reads them from the book's package.
        vars(names["d2l"]).update({name: names[name] for name in wanted})
    sizes = (D_MODEL, D_FF, HEADS, LAYERS, 0.1)
    encoder = names["TransformerEncoder"](SRC_TYPES, *sizes)
    decoder = names["TransformerDecoder"](TGT_TYPES, *sizes)

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        lengths = (src != 0).sum(dim=1)
        logits: Tensor = decoder(tgt_in, decoder.init_state(encoder(src, lengths), lengths))[0]
        return logits

    # Its maps find their widths in the first pass.
    forward(torch.full((1, 3), 4), torch.full((1, 2), 4))
    return Adapter(
        forward=forward,
        module=nn.ModuleList([encoder, decoder]),
        src_vocab_size=SRC_TYPES,
        tgt_vocab_size=TGT_TYPES,
    )


def _run_definitions(file: Path, wanted: Sequence[str], names: dict[str, Any]) -> None:
    """Run the definitions of these names in a file, or in the PyTorch cells of a page.

    They are put into `names`.
    """
    text = file.read_text(encoding="utf-8")
    blocks = [text]
    if file.suffix == ".md":
        blocks = re.findall(r"```\{\.python \.input\}\n%%tab pytorch\n(.*?)```", text, re.DOTALL)
    nodes = [node for block in blocks for node in ast.parse(block).body]
    defined = [node for node in nodes if getattr(node, "name", "") in wanted]
    exec(compile(ast.Module(defined, []), str(file), "exec"), names)


FACTORIES_BY_REPOSITORY: dict[str, Callable[[Path], Adapter | nn.Module]] = {
    "feather-ai+transformers-tutorial": make_feather_ai,
    "arxyzan+vanilla-transformer": make_arxyzan,
    "SamLynnEvans+Transformer": make_sam_lynn_evans,
    "jadore801120+attention-is-all-you-need-pytorch": make_jadore801120,
    "devjwsong+transformer-translator-pytorch": make_devjwsong,
    "tanjeffreyz+attention-is-all-you-need": make_tanjeffreyz,
    "dreamgonfly+transformer-pytorch": make_dreamgonfly,
    "sooftware+transformer": make_sooftware,
    "P3n9W31+transformer-pytorch": make_p3n9w31,
    "leviswind+pytorch-transformer": make_leviswind,
    "d2l-ai+d2l-en": make_d2l,
    f"{ALADDINPERSSON}/seq2seq_transformer": make_aladdinpersson_seq2seq,
    f"{ALADDINPERSSON}/transformer_from_scratch": make_aladdinpersson_from_scratch,
    "tunz+transformer-pytorch": make_tunz,
}


def import_from(folder: Path, name: str) -> ModuleType:
    """Import a module of somebody's repository, before the course's own of the same name."""
    package = name.partition(".")[0]
    origin = getattr(sys.modules.get(package), "__file__", None)
    if origin and not Path(origin).is_relative_to(folder):
        for known in [x for x in sys.modules if x.partition(".")[0] == package]:
            del sys.modules[known]
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def main() -> None:
    """Print the report on one repository."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where the clones are")
    parser.add_argument(
        "repository", choices=FACTORIES_BY_REPOSITORY, help="a clone, or a folder in one"
    )
    options = parser.parse_args()
    clone = options.folder.resolve() / options.repository
    if not clone.is_dir():
        parser.error(f"there is no folder {clone}: clone the repository to it")
    torch.manual_seed(0)
    print(diagnose(FACTORIES_BY_REPOSITORY[options.repository](clone)))


if __name__ == "__main__":
    main()
