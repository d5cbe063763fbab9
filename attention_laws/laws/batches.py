"""What is read and what is to be said are one sentence, a place apart (§3.1)."""

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, broken, kept, warned

LENGTHS = ((3, 4), (5, 2), (1, 6))  # of source and target
EQUAL = ((4, 5),) * 3  # for a model without padding


class _Made:
    """Sentences, and the batch that the adapter makes of them."""

    def __init__(self, subject: Subject) -> None:
        adapter = subject.adapter
        self.pad_id, self.bos_id, self.eos_id = adapter.pad_id, adapter.bos_id, adapter.eos_id
        lengths = EQUAL if self.pad_id is None else LENGTHS
        self.sources = [subject.ids(adapter.src_vocab_size, n).tolist() for n, _ in lengths]
        self.targets = [subject.ids(adapter.tgt_vocab_size, n).tolist() for _, n in lengths]
        self.src, self.tgt_in, self.tgt_out = needed(adapter.make_batch)(self.sources, self.targets)
        read, said = self.tgt_in.tolist(), self.tgt_out.tolist()
        self.rows = list(zip(self.targets, read, said, strict=True))


@law("make_batch", compares=False)
def targets_have_bos_and_eos(subject: Subject) -> Finding:
    """What the decoder reads begins with bos; what it is to say ends in eos.

    Means: without bos nothing asks for the first word, without eos the model never learns to stop
    Look: at where the marks are added, and at what is cut off with [:-1] and [1:]
    """
    made = _Made(subject)
    for target, tgt_in, tgt_out in made.rows:
        if tgt_in[:1] != [made.bos_id]:
            return broken(f"target {target}: tgt_in is {tgt_in} and does not begin with bos")
        if made.eos_id not in tgt_out:
            return broken(f"target {target}: tgt_out is {tgt_out} and has no eos")
        if made.bos_id in tgt_out and made.bos_id != made.eos_id:
            return broken(f"target {target}: tgt_out is {tgt_out} and says bos")
    return kept("each tgt_in begins with bos, and each tgt_out says eos")


@law("make_batch", compares=False)
def targets_are_shifted_by_one(subject: Subject) -> Finding:
    """The target at each position is the token after the one that is read there.

    Means: the target is not shifted (the model learns to copy its input), or twice
    Look: at where tgt_in and tgt_out are cut from the target
    """
    made = _Made(subject)
    if made.tgt_in.shape != made.tgt_out.shape:
        return broken(f"tgt_in is {tuple(made.tgt_in.shape)}, tgt_out {tuple(made.tgt_out.shape)}")
    for target, tgt_in, tgt_out in made.rows:
        said = [*target, made.eos_id]
        read = [made.bos_id, *target]
        if tgt_out[: len(said)] != said or tgt_in[: len(read)] != read:
            how = ", not shifted" if tgt_in == tgt_out else ""
            return broken(f"target {target}: tgt_in {tgt_in}, tgt_out {tgt_out}{how}")
    return kept("tgt_in is bos and the target, tgt_out the target and eos")


@law("make_batch", compares=False)
def padding_is_trailing(subject: Subject) -> Finding:
    """After a target there is padding and nothing else.

    Means: padding stands before the target, or rows are filled with another id
    Look: at pad_sequence and its padding_value
    """
    made = _Made(subject)
    for target, tgt_in, tgt_out in made.rows:
        after = tgt_out[len(target) + 1 :]
        if set(after) - {made.pad_id}:
            return broken(f"target {target}: tgt_out {tgt_out} goes on after eos")
        # Where a padded sentence is cut in two, eos may be read where nothing is to be said.
        if set(tgt_in[len(target) + 1 :]) - {made.pad_id, made.eos_id}:
            return broken(f"target {target}: tgt_in {tgt_in} goes on after the target")
    return kept("after each target there is padding alone")


@law("make_batch", compares=False)
def sources_are_complete(subject: Subject) -> Finding:
    """Each source is in the batch as it is, with an end mark.

    Means: tokens are cut off or reversed; on an end mark training and translation must agree
    Look: at how sources are put together, in training and in translation
    """
    made = _Made(subject)
    marked = []
    for source, row in zip(made.sources, made.src.tolist(), strict=True):
        real = [each for each in row if each != made.pad_id]
        starts = [i for i in range(len(real)) if real[i : i + len(source)] == source]
        if not starts:
            return broken(f"source {source}: src is {row}")
        rest = real[: starts[0]] + real[starts[0] + len(source) :]
        if set(rest) - {made.bos_id, made.eos_id}:
            return broken(f"source {source}: src is {row}, with more than marks beside it")
        marked.append(real[-1] == made.eos_id)
    if not all(marked):
        some = "some sources" if any(marked) else "no source"
        return warned(f"{some} of {len(marked)} ends in eos: {made.src.tolist()}")
    return kept("each source is whole and ends in eos")
