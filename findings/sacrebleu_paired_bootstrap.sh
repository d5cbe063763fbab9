#!/usr/bin/env bash
# sacreBLEU 2.6.0, with numpy 2.4.6.
#
# The p-value of `--paired-bs` (PairedTest, test_type="bs") is not one. Of each bootstrap resample
# it takes the distance between the two systems, |d|, subtracts the mean of those distances, and
# counts how many are greater than the measured distance. Half of what is left is below zero, and a
# distance varies less than the difference does, so that two equally good systems get p-values that
# are too small: about 10% of them are below 0.05 and more than half below 0.2, and none is above
# about 0.5. Two identical systems get the least that there is, 1 / 1001, because 0 > 0 is false.
# Its approximate randomization (`--paired-ar`) is calibrated on the same pairs, but counts no ties,
# and so has the least p-value for identical systems too.
#
# Seen here: 200 pairs of equal systems, simulated by copying 100 sentences with mistakes at random.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sacrebleu==2.6.0 numpy==2.4.6
cat > calibration.py <<'PY'
import random

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

rng = random.Random(1)
words = [f"word{number}" for number in range(200)]
references = [" ".join(rng.choices(words, k=rng.randint(6, 20))) for _ in range(100)]


def noisy_copy():
    """Get each word right with a probability of 0.8."""
    return [
        " ".join(word if rng.random() < 0.8 else rng.choice(words) for word in line.split())
        for line in references
    ]


def p_value(one, other, kind):
    systems = [("one", one), ("other", other)]
    test = PairedTest(systems, {"BLEU": BLEU()}, [references], kind, n_samples=1000)
    return test()[1]["BLEU"][1].p_value


pairs = [(noisy_copy(), noisy_copy()) for _ in range(200)]
same = noisy_copy()
shares = {}
for kind in ("bs", "ar"):
    found = np.array([p_value(one, other, kind) for one, other in pairs])
    shares[kind] = [float((found < level).mean()) for level in (0.05, 0.2, 0.5)]
    below = ", ".join(f"{100 * share:.1f}%" for share in shares[kind])
    print(f"{kind}: below 0.05, 0.2 and 0.5: {below} (right: 5%, 20%, 50%)")
    print(f"{kind}: highest {found.max():.3f}; identical systems: {p_value(same, same, kind):.4f}")
    assert p_value(same, same, kind) == 1 / 1001
# Chance moves a share of 200 by less than 0.12, in all but one of a thousand cases.
for share, right in zip(shares["ar"], (0.05, 0.2, 0.5)):
    assert abs(share - right) < 0.12
assert shares["bs"][1] > 0.2 + 0.12 and shares["bs"][2] > 0.5 + 0.12
PY
venv/bin/python calibration.py || { echo "CHANGED: sacreBLEU's paired bootstrap is calibrated"; exit 1; }
echo "as described: equal systems differ too often by the paired bootstrap, not by randomization"
