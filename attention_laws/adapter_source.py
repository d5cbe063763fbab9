"""Write the file of an Adapter around a bare module, ready to edit (not in the paper)."""

from attention_laws.adapter import Adapter, Pipeline
from attention_laws.calling_convention import CallingConvention
from attention_laws.errors import UserError

# What a user may add, each with an example; a law that needs it says so.
OPTIONAL_ATTRIBUTES = {
    "encode": "lambda src: module.encode(src)",
    "decode": "lambda tgt_in, memory, src: module.decode(tgt_in, memory, src)",
    "cached": "CachedDecoder(start=..., step=..., reorder=...)",
    "greedy": "lambda src, length: my_greedy(module, src, length)",
    "beam": "lambda src, beam_size, length: my_beam(module, src, beam_size, length)",
    "candidate_score": "lambda log_prob, length: log_prob / length**0.6",
    "length_exponent": "0.6",
    "loss": "lambda logits, tgt_out: my_loss(logits, tgt_out)",
    "label_smoothing": "0.1",
    "optimizer": "my_optimizer",
    "optimizer_settings": '{"betas": (0.9, 0.98), "eps": 1e-9}',
    "max_gradient_norm": "1.0",
    "train_step": "lambda src, tgt_in, tgt_out: my_step(module, src, tgt_in, tgt_out)",
    "schedule": "lambda step: my_rate(step)",
    "schedule_rates": "{4000: 7e-4, 100_000: 7e-5}",
    "relative_max_distance": "128",
    "rotary_base": "10000.0",
    "norm_epsilon": "1e-6",
    "initial_std": "0.02",
    "dropout": "0.1",
    "attention_dropout": "0.0",
    "make_batch": "lambda sources, targets: my_batch(sources, targets)",
    "untrained": "True",
}
FILE_TEMPLATE = '''"""{target} as the laws take it: correct what was found, and add what you have.

{assumptions}
"""

from attention_laws import Adapter, CachedDecoder  # noqa: F401
from attention_laws.bare_module import adapter_from_module
from {module_name} import {name} as make_module


def make() -> Adapter:
    """Return the adapter: attention-laws {file_stem}:make"""
    module = make_module()
    adapter = adapter_from_module(
        module,
{arguments}
    )
    return adapter.replace(
{attributes}
    )
'''


def adapter_source(adapter: Adapter | Pipeline, module_name: str, name: str, file_stem: str) -> str:
    """Return the text of a file whose `make` returns the adapter that was found.

    Args:
        adapter: The adapter that `adapter_from_module` returned.
        module_name: The module of the user's factory.
        name: The factory in it.
        file_stem: Name of the new file, without .py.

    Raises:
        UserError: the factory returns an Adapter or a Pipeline already.
    """
    call = adapter.forward if isinstance(adapter, Adapter) else None
    if not isinstance(adapter, Adapter) or not isinstance(call, CallingConvention):
        kind = type(adapter).__name__
        raise UserError(f"{module_name}:{name} returns its own {kind}: init is for bare modules")
    arguments = {
        "batch_first": call.batch_first,
        "pad_id": call.src_pad,
        "tgt_pad_id": call.tgt_pad,
        "bos_id": adapter.bos_id,
        "eos_id": adapter.eos_id,
        "masks": None if call.mask_style is None else str(call.mask_style),
    }
    return FILE_TEMPLATE.format(
        target=f"{module_name}:{name}",
        assumptions="\n".join(f"- {assumption}" for assumption in adapter.assumptions),
        module_name=module_name,
        name=name,
        file_stem=file_stem,
        arguments="\n".join(f"        {key}={value!r}," for key, value in arguments.items()),
        attributes="\n".join(
            f"        # {key}={value}," for key, value in OPTIONAL_ATTRIBUTES.items()
        ),
    )
