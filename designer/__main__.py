"""``python -m designer``: the same as the console script ``treewright``."""

from designer.cli import main

main()
