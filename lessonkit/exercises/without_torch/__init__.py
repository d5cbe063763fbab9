"""The exercises that need no PyTorch, by their lesson's module: the site judges them in a browser.

Not in the paper. A lesson's own module has them too. What computes a right value in another way may
need a library, which it imports when it is called.
"""
