"""Decision models: questions with a fixed set of answers, asked over the System One wire.

``questions`` says what can be asked, ``rules`` what is wrong with it, ``client`` what asking means and the
stages around it, ``wire`` how it is written, ``endpoint`` who is asked, and ``decider`` lets a tree ask.
"""
