"""What a person has chosen, kept in one file."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from designer.settings import Settings, data_folder, settings_path
from engine import DeciderName, DeciderSettings


def test_without_a_file_the_usual_settings_hold():
    assert Settings.load() == Settings()
    assert not settings_path().exists()


def test_saved_settings_are_loaded_equal():
    settings = Settings(
        theme="dark",
        decider=DeciderSettings(
            kind=DeciderName("openai"), base_url="http://127.0.0.1:8000/v1", model="m", key_env="MY_KEY"
        ),
        records_path=Path("/somewhere/decisions.jsonl"),
        trusted_folders=(Path("/projects/ssvc"),),
    )
    settings.save()
    assert Settings.load() == settings


def test_settings_are_stored_in_the_folders_of_the_person(own_folders):
    Settings().save()
    assert settings_path() == own_folders / "config" / "treewright" / "settings.json"
    assert data_folder() == own_folders / "data" / "treewright"
    assert [entry.name for entry in settings_path().parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"theme": "pink"}', b"\xff\x00"])
def test_settings_that_cannot_be_understood_are_kept_aside(content):
    settings_path().parent.mkdir(parents=True)
    settings_path().write_bytes(content)
    assert Settings.load() == Settings()
    assert settings_path().with_name("settings.json.broken").read_bytes() == content
    Settings(theme="dark").save()
    assert Settings.load().theme == "dark"


def test_settings_of_a_later_version_survive_a_save():
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text('{"theme": "light", "sounds": {"bell": true}}')
    Settings.load().changed(theme="dark").save()
    assert json.loads(settings_path().read_bytes())["sounds"] == {"bell": True}


def test_a_setting_of_the_wrong_kind_is_refused():
    with pytest.raises(ValidationError):
        Settings().changed(theme="pink")


def test_the_ten_files_used_last_are_remembered_once_each():
    settings = Settings()
    for number in (*range(12), 5):
        settings = settings.with_recent(Path(f"/trees/{number}.json"))
    assert [path.stem for path in settings.recent_files] == [
        "5",
        "11",
        "10",
        "9",
        "8",
        "7",
        "6",
        "4",
        "3",
        "2",
    ]


def test_settings_that_cannot_be_stored_say_where_and_why(own_folders):
    (own_folders / "config").write_text("in the way")
    with pytest.raises(OSError, match="config"):
        Settings().save()
