"""A chart as HTML: the same each time, and no text in it can end the script or the tag."""

from lessonkit.charts import colab

SPEC = {"mark": "bar", "title": "</script><b>"}


def page(spec: dict, text: str = "A chart.") -> str:
    return colab.page(spec, "UE5H", width=211, height=97, text=text)


def test_the_picture_stands_where_the_chart_will() -> None:
    assert (
        '<img src="data:image/png;base64,UE5H" width="211" height="97" alt="A chart.">'
    ) in page(SPEC)


def test_texts_end_neither_the_script_nor_the_tag() -> None:
    said = page(SPEC, text='Says "<b>" & more')
    assert said.count("</script>") == 1
    assert 'alt="Says &quot;&lt;b&gt;&quot; &amp; more"' in said
    assert said.count("<b>") == 1
    assert '"<\\/script><b>"' in said


def test_each_chart_has_a_place_of_its_own_and_always_the_same() -> None:
    other = SPEC | {"mark": "line"}
    assert page(SPEC) == page(dict(reversed(SPEC.items())))
    assert page(SPEC).splitlines()[0] != page(other).splitlines()[0]
