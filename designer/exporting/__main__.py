"""The process aside: it is told on its standard input what to make, and puts it on its output."""

import sys

from designer.exporting.aside import fill

sys.stdout.buffer.write(fill(sys.stdin.buffer.read()))
