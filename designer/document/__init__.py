"""The document: a draft with its file, its undo steps, its selection and its problems."""
