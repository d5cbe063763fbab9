"""Exercises that judge themselves: one module for each lesson, `words/` for what they say.

Not in the paper. CONTRIBUTING.md says how one is added. In a lesson:

    from lessonkit.exercises import start as ex

    ex.perplexity.check(my_perplexity)   # passed, not attempted, or wrong and where
    ex.perplexity.hint()                 # several, from gentle to plain
    ex.perplexity.solution()
    ex.show_progress()                   # how far one is, in all lessons
"""
