"""Every form a tree can leave in, and how it is made while the window goes on."""

from designer.exporting.aside import ExportFailed, make
from designer.exporting.forms import FORMS, Form, Subject, badges

__all__ = ["FORMS", "ExportFailed", "Form", "Subject", "badges", "make"]
