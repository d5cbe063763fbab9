"""The histogram of lengths in text."""

from attention_course.length_histogram import format_byte_length_histogram


def test_every_side_is_counted_in_its_bin() -> None:
    lengths = [(10, 19), (19, 20), (39, 9), (12, 15), *[(30, 15)] * 20]
    header, *lines = format_byte_length_histogram(lengths, ["en", "uk"])
    assert header.split() == ["bytes", "en", "uk"]
    counts = [[int(word) for word in line.split() if word.isdecimal()] for line in lines]
    assert [line.split()[0] for line in lines] == ["1-9", "10-19", "20-39"]
    assert counts == [[0, 1], [3, 22], [21, 1]]
    bars = [[word.count("█") for word in line.split()[1:] if "█" in word] for line in lines]
    assert bars == [[1], [3, 24], [23, 1]]
    assert format_byte_length_histogram([(700, 5000)], ["a", "b"])[1].split() == [
        *("640", "or", "more"),
        *("█" * 24, "1") * 2,
    ]
