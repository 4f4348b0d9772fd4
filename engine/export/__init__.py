"""A tree for other tools and for readers: a Mermaid chart, a Graphviz graph, a report, what is different.

None of them needs a tree without errors: what is missing is shown as missing. The same tree gives the same
text each time, and whatever stands in a tree is text there, never markup.
"""

from engine.export.charts import dot_of, mermaid_of
from engine.export.differences import difference_lines, difference_page, summary_of
from engine.export.report import anchors_of, report_of

__all__ = [
    "anchors_of",
    "difference_lines",
    "difference_page",
    "dot_of",
    "mermaid_of",
    "report_of",
    "summary_of",
]
