"""The canvas: a draft as cards and branches, and the gestures that ask for changes to it."""
