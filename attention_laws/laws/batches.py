"""The decoder's input and its target are one sentence, shifted by one position (§3.1)."""

from attention_laws.law import assert_not_none, law
from attention_laws.report import Finding, broken_finding, kept_finding, warned_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 20
SRC_AND_TGT_LENGTHS = ((3, 4), (5, 2), (1, 6))  # of source and target
SRC_AND_TGT_LENGTHS_WITHOUT_PADDING = ((4, 5),) * 3  # for a model without padding


class _BatchOfAdapter:
    """Sentences, and the batch that the adapter makes of them."""

    def __init__(self, subject: Subject) -> None:
        adapter = subject.adapter
        self.pad_id, self.tgt_pad_id = adapter.pad_id, subject.tgt_pad_id
        self.bos_id, self.eos_id = adapter.bos_id, adapter.eos_id
        lengths = (
            SRC_AND_TGT_LENGTHS_WITHOUT_PADDING if self.pad_id is None else SRC_AND_TGT_LENGTHS
        )
        self.sources = [subject.draw_ids(adapter.src_vocab_size, n).tolist() for n, _ in lengths]
        self.targets = [subject.draw_ids(adapter.tgt_vocab_size, n).tolist() for _, n in lengths]
        make_batch = assert_not_none(adapter.make_batch)
        self.src, self.tgt_in, self.tgt_out = make_batch(self.sources, self.targets)
        tgt_in, tgt_out = self.tgt_in.tolist(), self.tgt_out.tolist()
        self.rows = list(zip(self.targets, tgt_in, tgt_out, strict=True))


@law("make_batch", compares=False)
def targets_have_bos_and_eos(subject: Subject) -> Finding:
    """The decoder's input begins with bos, and its target ends in eos.

    Means: without bos nothing asks for the first word, without eos the model never learns to stop
    Look: at where the special tokens are added, and at what is cut off with [:-1] and [1:]
    """
    batch = _BatchOfAdapter(subject)
    for target, tgt_in, tgt_out in batch.rows:
        if tgt_in[:1] != [batch.bos_id]:
            return broken_finding(
                f"target {target}: tgt_in is {tgt_in} and does not begin with bos"
            )
        if batch.eos_id not in tgt_out:
            return broken_finding(f"target {target}: tgt_out is {tgt_out} and has no eos")
        if batch.bos_id in tgt_out and batch.bos_id != batch.eos_id:
            return broken_finding(f"target {target}: tgt_out is {tgt_out} and contains bos")
    return kept_finding("each tgt_in begins with bos, and each tgt_out contains eos")


@law("make_batch", compares=False)
def targets_are_shifted_by_one(subject: Subject) -> Finding:
    """The target at each position is the token after the one that is read there.

    Means: the target is not shifted (the model learns to copy its input), or twice
    Look: at where tgt_in and tgt_out are cut from the target
    """
    batch = _BatchOfAdapter(subject)
    if batch.tgt_in.shape != batch.tgt_out.shape:
        tgt_in_shape, tgt_out_shape = tuple(batch.tgt_in.shape), tuple(batch.tgt_out.shape)
        return broken_finding(f"tgt_in is {tgt_in_shape}, tgt_out {tgt_out_shape}")
    for target, tgt_in, tgt_out in batch.rows:
        expected_out = [*target, batch.eos_id]
        expected_in = [batch.bos_id, *target]
        out_fits = tgt_out[: len(expected_out)] == expected_out
        in_fits = tgt_in[: len(expected_in)] == expected_in
        if not out_fits or not in_fits:
            how = ", not shifted" if tgt_in == tgt_out else ""
            return broken_finding(f"target {target}: tgt_in {tgt_in}, tgt_out {tgt_out}{how}")
    return kept_finding("tgt_in is bos and the target, tgt_out the target and eos")


@law("make_batch", compares=False)
def padding_is_trailing(subject: Subject) -> Finding:
    """A target is followed by padding and nothing else.

    Means: padding precedes the target, or rows are filled with another id
    Look: at pad_sequence and its padding_value
    """
    batch = _BatchOfAdapter(subject)
    for target, tgt_in, tgt_out in batch.rows:
        after = tgt_out[len(target) + 1 :]
        if set(after) - {batch.tgt_pad_id}:
            return broken_finding(f"target {target}: tgt_out {tgt_out} goes on after eos")
        # If a padded sentence is cut in two, tgt_in may have eos where tgt_out has padding.
        if set(tgt_in[len(target) + 1 :]) - {batch.tgt_pad_id, batch.eos_id}:
            return broken_finding(f"target {target}: tgt_in {tgt_in} goes on after the target")
    return kept_finding("each target is followed by padding alone")


@law("make_batch", compares=False, reads_source=True)
def sources_are_complete(subject: Subject) -> Finding:
    """Each source is in the batch as it is, with eos at its end.

    Means: tokens are cut off or reversed; as to eos, training and translation must agree
    Look: at how sources are put together, in training and in translation
    """
    batch = _BatchOfAdapter(subject)
    ends_in_eos = []
    for source, row in zip(batch.sources, batch.src.tolist(), strict=True):
        real = [token for token in row if token != batch.pad_id]
        starts = [i for i in range(len(real)) if real[i : i + len(source)] == source]
        if not starts:
            return broken_finding(f"source {source}: src is {row}")
        rest = real[: starts[0]] + real[starts[0] + len(source) :]
        if set(rest) - {batch.bos_id, batch.eos_id}:
            return broken_finding(
                f"source {source}: src is {row}, with more than special tokens beside it"
            )
        ends_in_eos.append(real[-1] == batch.eos_id)
    if not all(ends_in_eos):
        some = "some sources" if any(ends_in_eos) else "no source"
        return warned_finding(f"{some} of {len(ends_in_eos)} ends in eos: {batch.src.tolist()}")
    return kept_finding("each source is complete and ends in eos")
