#!/usr/bin/env bash
# transformers 5.23.0, with torch 2.13.0 on a CPU.
#
# The sinusoids of MarianMTModel and PegasusForConditionalGeneration are parameters that are not
# trained: requires_grad is False. After save_pretrained and from_pretrained it is True. They still
# get no gradient, for their forward pass records none, and so the loaded model alone fails under
# DistributedDataParallel, at its second step.
#
# Seen: a new model makes three steps in two processes; the same model, saved and loaded, ends its
# second with "Expected to have finished reduction in the prior iteration".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > sinusoids.py <<'PY'
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import transformers
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel
from transformers import (
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
)

transformers.logging.disable_progress_bar()
KINDS = {
    "marian": (MarianConfig, MarianMTModel),
    "pegasus": (PegasusConfig, PegasusForConditionalGeneration),
}
SIZES = {
    "vocab_size": 17,
    "d_model": 16,
    "max_position_embeddings": 40,
    **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
}


def trainable(model):
    return {
        parameter.requires_grad
        for name, parameter in model.named_parameters()
        if "embed_positions" in name
    }


def train(rank, store, model):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    network = DistributedDataParallel(model)
    ids = torch.arange(3, 13).view(2, 5)
    try:
        for step in (1, 2, 3):
            network(input_ids=ids, labels=ids).loss.backward()
        answer = "all three steps"
    except RuntimeError as error:
        answer = f"step {step}: {str(error)[:64]}"
    if rank == 0:
        Path(f"{store}.txt").write_text(answer)
    os._exit(0)


def steps_in_two_processes(name, model):
    store = os.path.abspath(f"store-{name}")
    multiprocessing.spawn(train, args=(store, model), nprocs=2)
    return Path(f"{store}.txt").read_text()


if __name__ == "__main__":
    for name, (config, network) in KINDS.items():
        torch.manual_seed(0)
        model = network(config(**SIZES))
        model.save_pretrained(name)
        loaded = network.from_pretrained(name)
        print(name, "trainable: new", trainable(model), "loaded", trainable(loaded))
        if (trainable(model), trainable(loaded)) != ({False}, {True}):
            sys.exit("CHANGED: loaded sinusoids are as new ones")
        if name == "pegasus":
            continue  # its two processes would do the same
        new = steps_in_two_processes(f"{name}-new", model)
        again = steps_in_two_processes(f"{name}-loaded", loaded.train())
        print(f"  new: {new}\n  loaded: {again}")
        assert new == "all three steps"
        if not again.startswith("step 2: Expected to have finished reduction"):
            sys.exit("CHANGED: a loaded model trains in two processes")
PY
OMP_NUM_THREADS=1 venv/bin/python sinusoids.py
echo "as described: loading makes the sinusoids trainable, and DistributedDataParallel waits for them"
