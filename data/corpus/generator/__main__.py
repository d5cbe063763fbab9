"""Draw the embedded corpus again, from the checkout: `python -m data.corpus.generator`."""

from data.corpus.generator.build import write
from transformer.data.embedded_corpus import EMBEDDED_FILE
from transformer.support.files import check_file
from transformer.support.folders import corpus_folder


def main() -> None:
    """Write the corpus file, and print its path."""
    file = corpus_folder() / EMBEDDED_FILE
    check_file(file)
    write(file)
    print(file)


if __name__ == "__main__":
    main()
