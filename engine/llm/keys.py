"""Where keys come from: an environment variable, else the keyring of the person's desktop; never a file."""

import os
from typing import Final

from engine.errors import LlmError

SERVICE: Final = "treewright"
"""The name keys are kept under in a keyring: ``keyring set treewright VARIABLE`` puts one there."""


def key_from(variable: str) -> str:
    """The key an environment variable holds, else the one a keyring keeps under the same name.

    ``LlmError`` naming the variable when neither has one. A keyring is asked where the extra ``keyring`` is
    installed; one that is locked, broken or missing has no keys.
    """
    key = os.environ.get(variable, "").strip() or _kept(variable)
    if not key:
        message = f"Neither the environment variable {variable} nor a keyring holds a key."
        raise LlmError(message, kind="request", transient=False)
    return key


def _kept(variable: str) -> str:
    try:
        import keyring

        return (keyring.get_password(SERVICE, variable) or "").strip()
    except Exception:  # noqa: BLE001 - every backend fails in its own way
        return ""
