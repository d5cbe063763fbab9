"""Try the laws on public encoder-decoders, as docs/found.md reports them.

Not in the paper, and in no record: none of that code is here. FOLDER holds a clone of each
repository under its name, OWNER+NAME: `python experiments/laws/public_code.py FOLDER OWNER+NAME`.
"""

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws import Adapter, diagnose

# Small, since the laws are about code and not about size.
SRC_TYPES, TGT_TYPES, D_MODEL, D_FF, HEADS, LAYERS = 23, 29, 32, 64, 4, 2


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


FACTORIES_BY_REPOSITORY: dict[str, Callable[[Path], Adapter | nn.Module]] = {
    "feather-ai+transformers-tutorial": make_feather_ai,
    "arxyzan+vanilla-transformer": make_arxyzan,
    "SamLynnEvans+Transformer": make_sam_lynn_evans,
    "jadore801120+attention-is-all-you-need-pytorch": make_jadore801120,
    "devjwsong+transformer-translator-pytorch": make_devjwsong,
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
    parser.add_argument("repository", choices=FACTORIES_BY_REPOSITORY, help="name of a clone")
    options = parser.parse_args()
    clone = options.folder.resolve() / options.repository
    if not clone.is_dir():
        parser.error(f"there is no folder {clone}: clone the repository to it")
    torch.manual_seed(0)
    print(diagnose(FACTORIES_BY_REPOSITORY[options.repository](clone)))


if __name__ == "__main__":
    main()
