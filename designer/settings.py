"""What a person has chosen, kept in one small JSON file of their own."""

from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Self

from platformdirs import user_cache_path, user_config_path, user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from PySide6.QtCore import QIODevice, QSaveFile

from engine import DeciderSettings

_APP: Final = "treewright"
_RECENT: Final = 10
_USUAL: Final = "Empty: the usual place"


class Settings(BaseModel):
    """The preferences: a frozen value. Members of a later version are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    theme: Literal["system", "light", "dark"] = Field("system", title="Appearance")
    decider: DeciderSettings = Field(default_factory=DeciderSettings, title="Model")
    transcripts_folder: Path | None = Field(None, title="Folder of transcripts", description=_USUAL)
    records_path: Path | None = Field(
        None, title="File of decision records", description=f"{_USUAL}; else a .sqlite or .jsonl file"
    )
    recent_files: tuple[Path, ...] = ()
    trusted_folders: tuple[Path, ...] = ()
    declined_folders: tuple[Path, ...] = ()
    """Folders whose Python code the person was asked about and said no: they are not asked again."""

    @classmethod
    def load(cls) -> Self:
        """The stored settings, or the usual ones.

        A file that cannot be understood is kept aside as ``settings.json.broken``, never overwritten.
        """
        path = settings_path()
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return cls()
        except (OSError, ValidationError):
            with suppress(OSError):
                path.replace(path.with_name(f"{path.name}.broken"))
            return cls()

    def save(self) -> None:
        """Store the settings whole or not at all; ``OSError`` says why they could not be."""
        path = settings_path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = QSaveFile(str(path))
        # What a decider leaves out and what it sets to nothing are not the same.
        data = f"{self.model_dump_json(indent=2, exclude_unset=True)}\n".encode()
        write = QIODevice.OpenModeFlag.WriteOnly
        if not (file.open(write) and file.write(data) == len(data) and file.commit()):
            raise OSError(f"{path}: {file.errorString()}")

    def changed(self, **changes: object) -> Self:
        """These settings with some of them changed; ``ValidationError`` when a value does not fit."""
        return self.model_validate({**dict(self), **changes})

    def with_recent(self, path: Path) -> Self:
        """With this file as the one used last."""
        path = path.absolute()
        others = (other for other in self.recent_files if other != path)
        return self.changed(recent_files=(path, *others)[:_RECENT])


def settings_path() -> Path:
    """Where the settings lie."""
    return user_config_path(_APP) / "settings.json"


def cache_folder() -> Path:
    """Where what can be made again lies."""
    return user_cache_path(_APP)


def data_folder() -> Path:
    """Where records and transcripts lie, unless the person chose another place."""
    return user_data_path(_APP)
