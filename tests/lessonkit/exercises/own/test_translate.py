"""The learner's lines, as lessons 02 to 04 have them, translate with shipped weights."""

from lessonkit.exercises.own.reference import MyTransformer
from transformer.data import corpora
from transformer.data.batches import collate_sources
from transformer.decoding import greedy_search
from transformer.models.translator import Translator


def test_a_hundred_sentences_are_translated_as_the_package_does(shipped: Translator) -> None:
    sizes = shipped.recipe.model
    mine = MyTransformer(
        *(shipped.src_tokenizer.vocab_size, sizes.d_model, sizes.d_ff),
        *(sizes.num_heads, sizes.num_layers),
    )
    said = mine.load_state_dict(shipped.model.state_dict())
    assert repr(said) == "<All keys matched successfully>"
    sentences = corpora.load("embedded", "test", "en", "fr").src[:100]
    src = collate_sources([shipped.src_tokenizer.encode(each) for each in sentences])
    by_mine = greedy_search(mine.eval(), src, use_cache=False)
    by_package = greedy_search(shipped.model, src)
    assert [each.ids for each in by_mine] == [each.ids for each in by_package]
    assert len({tuple(each.ids) for each in by_mine}) > 90
