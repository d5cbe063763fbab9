"""Exercises that judge themselves: one module for each lesson, `words/` for what they say.

Not in the paper. In a lesson:

    from lessonkit.exercises import start as ex

    def my_perplexity(losses):
        # your answer
        ...

    ex.perplexity.check(my_perplexity)   # passed, not attempted, or wrong and where
    ex.perplexity.hint()                 # several, from gentle to plain
    ex.perplexity.solution()

To add exercises for a lesson:

1. Make a module here, named for the lesson in one word, and `words/NN.toml` for the lesson NN. The
   module reads that (`words = read_words("00")`), and has one `check.Exercise` for each, in the
   lesson's order: a reference called `my_` and the exercise's name, then an exercise of that
   name. The reference needs only its arguments and modules that its file imports (`math`,
   `torch`), for it is shown as the solution. Its parameters become the blank's.
2. Give three *named* mistakes or more that people make, in the words: under its name each has its
   hint and the edit of the reference's own text that makes it, old and new: `never_falls = ["This
   goes on rising.", "min(rising, falling)", "rising"]`. Where no edit does, the words have the hint
   alone, and the exercise's `wrong` a lambda around the reference, or a function. A learner's
   answer is recognised by what it does, so any two of them must differ in some case, each must be
   wrong in one, and a hint must be true of every answer that does the same.
3. Judge by another way than the reference's: `worked` cases by hand, `expected` from another
   library or another formula, `properties` alone where several values are right. Make
   most `cases` small and many, all of them if that can be: the one that is shortest to
   write is shown. Arguments are copied for each call, and must not be changed by it.
   What the text forbids and no value shows is a rule (see `outcome`), and checked as well.
4. In the lesson, put `exercise.blank` into a cell as it stands (its minutes and difficulty
   into the heading above: "Perplexity (5 minutes, easy)"). In the midst of the text, where what
   follows uses the answer, put `exercise.gap` instead: it says whose function is used below.

To ask before showing:

1. The words have under `predictions` each figure that surprises, and three questions on the last
   lesson and the one before under `recall`. `globals().update(asked(words))` makes them names of
   the module. No answer to a prediction is stored.
2. The lesson imports `ex` in its first code cell and asks `asking.CELL`. For each prediction it has
   a text cell that ends in `prediction.question`, a cell `prediction.blank`, and below them one
   cell that ends in `ex.NAME.compare(what was just measured)`. That cell, and any with an
   output between, has `"jupyter": {"outputs_hidden": true}` in its metadata: JupyterLab folds the
   stored output until the cell is run. GitHub and the site show it all the same.

`tests/lessonkit/exercises` finds every exercise and lesson by itself and holds them to this: it
tries the reference, the blank and every wrong answer, runs the solutions with the lesson's
imports, and changes the reference in every small way: what passes shows that a case is missing.
"""
