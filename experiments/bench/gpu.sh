#!/bin/bash
# Takes the figures of docs/benchmarks.md, "On a GPU", in two calls of under ten minutes each. Not yet run.
#
#     bash experiments/bench/gpu.sh first FOLDER     # tests, a training alone, four beside each other, steps
#     bash experiments/bench/gpu.sh second FOLDER    # the other seeds, and fp16
#
# It needs the package installed, and without a network Multi30k in data/cache. What a limit of time ends is kept
# as far as it came. Afterwards, on any machine, with FOLDER/steps.json as data/results/bench/gpu.json:
#
#     for run in FOLDER/multi30k-*/; do
#         attention-course evaluate "$run" --record "data/results/gpu/$(basename "$run")-graphs.json"
#     done
#     python -m experiments tables
#
# Lesson 17 reads bench/gpu too: its cell takes the GPU's milliseconds from "profile", which is now in each way.
set -u
part=$1 out=$(realpath -m "$2")
cd "$(dirname "$0")/../.." && mkdir -p "$out"

# Train a recipe: LIMIT (seconds) RECIPE SEED PRECISION
train() {
    timeout "$1" attention-course train "$2" --set "seed=$3" --precision "$4" --cuda-graphs \
        --out "$out/$2-$3-$4" >"$out/$2-$3-$4.txt" 2>&1
}

case $part in
first)
    timeout 90 python -m pytest -q -m gpu tests/training/test_gpu.py -k "replays or recorded or waits" >"$out/tests.txt" 2>&1
    tail -3 "$out/tests.txt"
    train 140 multi30k-de-en 1 bf16
    train 150 multi30k-fr-en 1 bf16 &
    train 150 multi30k-en-fr 1 bf16 &
    train 150 multi30k-de-en 2 bf16 &
    train 150 multi30k-de-en 3 bf16 &
    wait
    # Compiling is last, and may be cut off.
    timeout 200 python -m experiments bench gpu >"$out/steps.txt" 2>&1
    cp data/results/bench/gpu.json "$out/steps.json"
    ;;
second)
    for recipe in multi30k-fr-en multi30k-en-fr; do
        train 280 "$recipe" 2 bf16 &
        train 280 "$recipe" 3 bf16 &
    done
    train 280 multi30k-de-en 1 fp16 &
    wait
    ;;
*)
    echo "give first or second, not $part" >&2
    exit 2
    ;;
esac
tail -n 1 "$out"/*.txt
