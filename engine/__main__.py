"""``python -m engine``: the command line without the window."""

from engine.cli import main

main()
