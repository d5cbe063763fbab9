"""Mutants that compute what the sound model does, its weights with other signs or names."""

import pytest

from experiments.laws.mutants import FILE, SAME, fingerprint, run

EQUIVALENT = {
    "keys and values exchanged": (
        "self.split(self.key(hidden)), self.split(self.value(hidden))",
        "self.split(self.value(hidden)), self.split(self.key(hidden))",
    ),
    "sub-layers negated": ("hidden + self.dropout", "hidden - self.dropout"),
    "layers read and give the negative": ("words + self.waves", "words - self.waves"),
}
NOT_EQUIVALENT = (
    ("self.words(ids) * math.sqrt(D_MODEL)", "self.words(ids)"),  # a scale: Adam's steps differ
    ("start=0)", "start=1)"),  # LayerNorm sees which way the waves are turned
    ("** (torch.arange(0, D_MODEL, 2)", "** (1 + torch.arange(0, D_MODEL, 2)"),
)


@pytest.mark.slow
def test_an_equivalent_mutant_is_the_sound_model_with_its_weights_changed() -> None:
    """In 64 bits: logits, loss, search, cache, and three steps of Adam with dropout."""
    text = FILE.read_text(encoding="utf-8")
    sound = fingerprint(run(text))
    assert set(SAME) == set(EQUIVALENT)
    for change, edit in EQUIVALENT.items():
        assert text.count(edit[0]) == 1
        mutant = run(text.replace(*edit))
        assert [each for each in ("", *SAME) if fingerprint(mutant, each) == sound] == [change]
    for edit in NOT_EQUIVALENT:
        assert text.count(edit[0]) == 1
        mutant = run(text.replace(*edit))
        assert not any(fingerprint(mutant, each) == sound for each in ("", *SAME))
    newest_first = text.replace("zip(past, keys", "zip(keys, past")  # of no weights' concern
    assert fingerprint(run(newest_first)) == sound
