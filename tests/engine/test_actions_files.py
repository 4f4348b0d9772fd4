"""Actions of a project file that change the state or read files: what they find and what they refuse."""

import os
from pathlib import Path

import pytest

from engine import ActionContext, DataStore
from tests.engine.acting import catalog, done, entry

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder, with a secret beside it."""
    folder = tmp_path / "project"
    (folder / "notes" / "old").mkdir(parents=True)
    (folder / "notes" / "a.txt").write_text("Ähre, first note.\n", encoding="utf-8")
    (folder / "notes" / "b.md").write_text("second")
    (folder / "notes" / "old" / "c.txt").write_text("third")
    (tmp_path / "secret.txt").write_text("SECRET")
    return folder


# -- the state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["{{name}} as it stands", 5, 2.5, True])
async def test_a_property_is_set_to_a_value_as_it_stands(tmp_path: Path, value: object):
    found = await done(tmp_path, entry("setProperty", property="a", value=value), parameters={"name": "x"})
    assert (found.went, found.properties) == ("done", {"a": value})


async def test_null_takes_a_property_away(tmp_path: Path):
    found = await done(tmp_path, entry("setProperty", property="a", value=None), properties={"a": "1"})
    assert (found.went, found.properties) == ("done", {})


async def test_a_template_is_filled_with_parameters_and_then_with_properties_and_only_once(tmp_path: Path):
    found = await done(
        tmp_path,
        entry(
            "templateToProperty", property="text", template="{{who}}/{{count}}/{{both}}/{{nobody}}/{{gone}}"
        ),
        parameters={"who": "{{both}}", "both": "given"},
        properties={"count": 3.0, "both": "found", "gone": None},
    )
    assert found.properties["text"] == "{{both}}/3/given/{{nobody}}/{{gone}}"


async def test_a_text_that_takes_itself_in_does_not_grow_for_ever(tmp_path: Path):
    described = entry("templateToProperty", property="log", template="{{log}}{{log}}")
    found = await done(tmp_path, described, properties={"log": "x" * 600_000})
    assert (found.went, found.said.error) == ("never", "A text would be longer than 1,000,000 characters.")
    assert len(str(found.properties["log"])) == 600_000


# -- one file ------------------------------------------------------------------------------------------


async def test_a_file_is_read_as_data_and_as_a_property(project: Path):
    described = entry("readFile", path="notes/{{name}}.txt", property="text", dataType="note")
    found = await done(project, described, properties={"name": "a"})
    assert found.properties["text"] == "Ähre, first note.\n"
    assert found.data == [("notes/a.txt", "note", "Ähre, first note.\n")]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../secret.txt", "'{{path}}' leads out of the folder '.'."),
        ("notes/../../secret.txt", "'{{path}}' leads out of the folder '.'."),
        ("notes/link.txt", "'{{path}}' leads out of the folder '.'."),
        ("linked/secret.txt", "'{{path}}' leads out of the folder '.'."),
        ("{outside}/secret.txt", "'{{path}}' must lead on from the folder '.', not from the root."),
        ("{outside}/project/notes/a.txt", "'{{path}}' must lead on from the folder '.', not from the root."),
        ("C:\\secret.txt", "'{{path}}' must lead on from the folder '.', not from the root."),
        ("\\\\host\\share", "'{{path}}' must lead on from the folder '.', not from the root."),
        ("a\0b", "'{{path}}' cannot be found."),
        ("loop", "'{{path}}' cannot be found."),
        ("notes", "'{{path}}' is no file."),
        ("pipe", "'{{path}}' is no file."),
        ("none.txt", "'{{path}}' cannot be read: No such file or directory."),
        ("latin.txt", "'{{path}}' is not UTF-8 text."),
        ("large.txt", "'{{path}}' is larger than 100 bytes."),
    ],
)
async def test_what_may_not_be_read_is_refused_without_a_word_of_it(project: Path, path: str, words: str):
    (project / "notes" / "link.txt").symlink_to(project.parent / "secret.txt")
    (project / "linked").symlink_to(project.parent)
    (project / "loop").symlink_to(project / "loop")
    os.mkfifo(project / "pipe")
    (project / "latin.txt").write_bytes(b"\xe4")
    (project / "large.txt").write_bytes(b"x" * 101)
    described = entry("readFile", path="{{path}}", property="text", maxBytes=100)
    found = await done(project, described, properties={"path": path.format(outside=project.parent)})
    assert (found.went, found.said.error) == ("never", words)
    assert ([*found.properties], found.data) == (["path"], [])


async def test_a_link_inside_the_folder_and_a_way_round_within_it_are_followed(project: Path):
    (project / "link").symlink_to(project / "notes")
    found = await done(project, entry("readFile", path="notes/../link/b.md", property="text"))
    assert found.properties == {"text": "second"}


async def test_a_path_without_a_value_is_not_looked_for(project: Path):
    found = await done(project, entry("readFile", path="notes/{{name}}.txt", property="text"))
    assert found.said.error == "There is no value for 'name'."


async def test_a_folder_outside_is_read_only_in_a_trusted_project(project: Path):
    described = entry("readFile", folder="..", path="secret.txt", property="text")
    refused = await done(project, described)
    assert (
        refused.said.error == "The folder '..' is outside the project's own, and the project is not trusted."
    )
    read = await done(project, described, trusted=True)
    assert read.properties == {"text": "SECRET"}


async def test_trust_opens_the_named_folder_and_nothing_above_it(project: Path):
    described = entry("readFile", folder="notes", path="../../secret.txt", property="text")
    found = await done(project, described, trusted=True)
    assert found.said.error == "'../../secret.txt' leads out of the folder 'notes'."


# -- a folder ------------------------------------------------------------------------------------------


async def test_a_folder_is_listed_in_order_without_links(project: Path):
    (project / "notes" / "z.txt").symlink_to(project.parent / "secret.txt")
    (project / "notes" / "zz").symlink_to(project.parent)
    flat = await done(project, entry("listFolder", path="notes", property="names", dataType="name"))
    assert flat.properties == {"names": "a.txt\nb.md\nold"}
    assert flat.data == [(name, "name", name) for name in ("a.txt", "b.md", "old")]
    deep = await done(
        project, entry("listFolder", path="notes", pattern="*.txt", recursive=True, property="names")
    )
    assert deep.properties == {"names": "a.txt\nold/c.txt"}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"path": ".."}, "'..' leads out of the folder '.'."),
        ({"path": "notes/a.txt"}, "'notes/a.txt' cannot be listed: Not a directory."),
        ({"path": "notes", "maxEntries": 2}, "'notes' holds more than 2 names that are meant."),
    ],
)
async def test_what_may_not_be_listed_is_refused(project: Path, parameters: dict[str, object], words: str):
    found = await done(project, entry("listFolder", property="names", **parameters))
    assert (found.went, found.said.error) == ("never", words)


# -- tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", '\ufeffid,text\r\na,"one, two"\r\n\r\nb,"quoted ""x"""\r\n'),
        ("t.json", '[{"id": "a", "text": "one, two"}, {"id": "b", "text": "quoted \\"x\\""}]'),
        ("t.jsonl", '{"id": "a", "text": "one, two"}\n\n{"id": "b", "text": "quoted \\"x\\""}'),
    ],
)
async def test_rows_become_data(project: Path, name: str, content: str):
    (project / name).write_text(content, encoding="utf-8", newline="")
    found = await done(
        project, entry("loadRows", path=name, dataType="row", idColumn="id", contentColumn="text")
    )
    assert found.data == [("a", "row", "one, two"), ("b", "row", 'quoted "x"')]
    whole = await done(project, entry("loadRows", path=name, dataType="row"))
    assert whole.data[0] == ("row-1", "row", '{"id": "a", "text": "one, two"}')


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", "id,text,other\n,,hidden\n"), ("t.json", '[{"id": "", "text": "", "other": "hidden"}]')],
)
async def test_an_empty_cell_is_an_empty_content_and_never_the_other_columns(
    project: Path, name: str, content: str
):
    (project / name).write_text(content, encoding="utf-8")
    found = await done(
        project, entry("loadRows", path=name, dataType="row", idColumn="id", contentColumn="text")
    )
    assert found.data == [("row-1", "row", "")]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.txt", b"a\n1\n", "What '{}' ends in tells no format; name csv, json or jsonl as 'format'."),
        ("t.csv", b"", "'{}' must begin with a line of names, none of them empty and each there once."),
        (
            "t.csv",
            b"a,a\n1,2\n",
            "'{}' must begin with a line of names, none of them empty and each there once.",
        ),
        ("t.csv", b"a,b\n1\n", "'{}' has 1 values in row 1, for 2 names."),
        ("t.csv", b'a,b\n1,"2"x\n', "'{}' is no CSV at line 2."),
        ("t.csv", b"a\n\xff\n", "'{}' is not UTF-8 text."),
        ("t.csv", b"a\n1\n2\n3\n4\n", "'{}' has more than 3 rows."),
        ("t.csv", b"b\n1\n", "Row 1 of '{}' has no 'a'."),
        ("t.json", b'{"a": 1}', "'{}' must hold a list of objects."),
        ("t.json", b"[1]", "'{}' has no object at row 1."),
        ("t.json", b'[{"a": 1,\n "a": 2}]', "'{}' is no JSON at line 2, column 2."),
        ("t.jsonl", b'{"a": 1}\n{"a": NaN}\n', "'{}' is no JSON at line 2, column 7."),
        ("t.json", b" " * 201, "'{}' is larger than 200 bytes."),
    ],
)
async def test_what_is_no_table_is_refused_with_its_place(
    project: Path, name: str, content: bytes, words: str
):
    (project / name).write_bytes(content)
    described = entry("loadRows", path=name, dataType="row", contentColumn="a", maxRows=3, maxBytes=200)
    found = await done(project, described)
    assert (found.went, found.said.error, found.data) == ("never", words.format(name), [])


async def test_an_action_that_needs_no_run_can_be_done_without_one(tmp_path: Path):
    (tmp_path / "a.txt").write_text("here")
    made = catalog(tmp_path, it=entry("readFile", path="{{name}}.txt", property="text"))
    context = ActionContext("node", "id", {"name": "a"}, {}, DataStore())
    assert (await made.actions["it"].execute(context)).properties == {"text": "here"}
