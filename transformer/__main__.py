"""The command line, `python -m transformer --help`: the package attention_course has it."""

import runpy

if __name__ == "__main__":
    runpy.run_module("attention_course", run_name="__main__")
