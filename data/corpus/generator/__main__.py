"""Draw the embedded corpus again, from the checkout: `python -m data.corpus.generator`."""

from data.corpus.generator.build import write
from transformer.data.embedded_corpus import EMBEDDED_FILE_NAME
from transformer.support.files import check_writable_file
from transformer.support.folders import embedded_corpus_folder


def main() -> None:
    """Write the corpus file, and print its path."""
    file = embedded_corpus_folder() / EMBEDDED_FILE_NAME
    check_writable_file(file)
    write(file)
    print(file)


if __name__ == "__main__":
    main()
