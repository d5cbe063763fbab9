"""`python -m transformer`: the command `attention-course`, where no file takes this name."""

from transformer.support.signals import handle_interrupts

if __name__ == "__main__":
    # Before the imports, which take seconds.
    handle_interrupts()
    import runpy

    runpy.run_module("attention_course", run_name="__main__")
