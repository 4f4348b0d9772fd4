"""The price changes of a folder: its tools, whole runs over both corpora, and the script that makes these."""

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from runpy import run_path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest

from engine.agent import (
    DIGESTS,
    DecisionTrace,
    Document,
    FileEntry,
    Folder,
    HeuristicClient,
    InvalidInput,
    JobEnded,
    ListFolderTool,
    PriceChangeFinder,
    ReadDocumentTool,
    ScriptedClient,
    ScriptedMoves,
    SinkClosed,
    SplitStatementsTool,
    Statement,
    ToolRefused,
    World,
    trace_of,
)
from engine.agent.prices import size_of
from engine.agent.texts import MAX_BYTES, Unreadable, bad_share, decoded, kind_of, office_text, statements_of
from engine.deciders.asked import TokenUsage
from engine.deciders.systemone.client import DecisionRequest, DecisionResult
from tests.engine.agents import of
from tests.engine.runs import VirtualClock
from tests.engine.thinkers import Hears, lines, options, tools

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "price-changes"
TESTS = ROOT / "tests" / "data" / "price-changes"
CORPUS = TESTS / "corpus"
SCRIPT = run_path(str(SAMPLE / "make_corpus.py"))

FEBRUARY, MAY = "meeting-notes-2026-02.md", "minutes-2026-05-06.md"
JUNE = "It was decided that Heron 2 and Heron 3 cost 20 percent more from 1 June 2026."


def script(documents: Sequence[str], selected: Iterable[str]) -> ScriptedMoves:
    """List the folder, read these documents, split them, finish, and select these statements."""
    moves = [("list_folder", "")]
    moves += [("read_document", f": {name} (") for name in documents]
    moves += [("split_statements", f": {name} (") for name in documents]
    return ScriptedMoves(moves, [words[:60] for words in selected])


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return read


def deciding(folder: Path) -> list[str]:
    return [fact["statement"] for fact in manifest(folder)["deciding"]]


TOLD = deciding(TESTS)


class Costs(Hears):
    """A scripted client whose answers cost something, like those of a model."""

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        result: DecisionResult = await super().evaluate(request)
        return DecisionResult(
            answers=result.answers, served_model="jev-1.13.0", usage=TokenUsage(900, 40, 0.01)
        )


def finder(client: Any = None, **more: Any) -> PriceChangeFinder:
    more.setdefault("clock", VirtualClock())
    return PriceChangeFinder(client=client or Costs(script((FEBRUARY, MAY), TOLD)), **more)


async def listed(folder: Path = CORPUS) -> dict[str, FileEntry]:
    """The files of a folder, as the tool lists them."""
    made = await ListFolderTool(_NOBODY).run(Folder(str(folder)))
    return {file.name: file for file in made.iterands}


async def read(file: FileEntry) -> str:
    return (await ReadDocumentTool(_NOBODY).run(file)).text


_NOBODY: Any = None


async def refused(file: FileEntry) -> str:
    with pytest.raises(InvalidInput) as why:
        await read(file)
    assert f"file '{file.name}': " in str(why.value)
    return str(why.value)


# ------------------------------------------------------------------------------------------ whole runs


async def test_w1_the_two_statements_that_decide_are_found():
    made = finder()
    result = await made.start(Folder(str(CORPUS))).finish()
    assert result.answer is not None
    assert tools(result) == ["list_folder", *["read_document"] * 2, *["split_statements"] * 2, "finish"]
    assert result.measured.calls == 6
    assert [statement.text for statement in result.answer.iterands] == TOLD
    assert [statement.source for statement in result.answer.iterands] == [FEBRUARY, MAY]
    assert JUNE in TOLD
    assert any("Kestrel 1 costs" in words and "1 April 2026" in words for words in TOLD)


async def test_w1a_the_second_turn_offers_every_file_by_what_its_listing_says():
    made = finder()
    await made.start(Folder(str(CORPUS))).finish()
    assert isinstance(made.client, Hears)
    asked = made.client.requests[1]
    offered = list(options(asked, "read_document_input").values())
    assert len(offered) == 30
    assert any("(file): keys.enc (binary, 2 KB)" in line for line in offered)
    state = lines(asked)
    assert len(state) == 32
    assert "(folder): the folder corpus" in state[0]
    assert "(list): a list of 30 file" in state[1]
    assert "(file): FrameSerial.java (text" in state[2]


async def test_w1b_the_stream_tells_the_whole_run():
    out: list[str] = []
    made = finder()
    run = made.start(Folder(str(CORPUS)))
    trace = DecisionTrace.of(run, out.append)
    result = await run.finish()
    assert await trace.await_end(5)
    said = [json.loads(line) for line in out]
    assert len(said) == 43  # the reference's 42, and the head of ours
    last = said[-1]
    assert last["type"] == "workflow_complete"
    assert (len(last["answer"]), len(last["turns"]), last["measured"]["calls"]) == (2, 6, 6)
    assert last["measured"]["cost"] > 0
    assert last["measured"]["model"] == made.client.model
    decided = [line for line in said if "decision" in line]
    assert len(decided) == 6
    second = decided[1]
    assert second["decision"]["state"]["objective"] == made.objective
    assert second["decision"]["questions"]["next"]["type"] == "choice"
    answer = second["decision"]["answers"]["next"]
    assert answer["choice"] == "read_document"
    assert answer["probabilities"]["read_document"] > 0.5
    assert second["job"]["iteration"] == 2
    listing = next(
        line for line in said if line.get("job", {}).get("tool") == "list_folder" and "result" in line
    )
    assert len(listing["result"]["iterands"]) == 30
    assert listing["result"]["digest"] == "a list of 30 file"
    assert any(
        line["job"]["own"] and "turn 1: list_folder" in line["message"]
        for line in said
        if line.get("kind") == "progress"
    )
    finish = [key for key in decided[-1]["decision"]["answers"] if key.startswith("select_")]
    assert len(finish) > 20
    assert len(finish) == len(result.turns[-1].selection)
    assert [thing.digest for thing in trace_of(out).answer] == [each.digest for each in result.selected]


@pytest.mark.parametrize("error", [OSError("gone"), SinkClosed("gone")])
async def test_w2_a_sink_that_loses_its_reader_does_not_change_the_run(error):
    out: list[str] = []

    def sink(line: str) -> None:
        if len(out) == 3:
            raise error
        out.append(line)

    run = finder().start(Folder(str(CORPUS)))
    trace = DecisionTrace.of(run, sink)
    assert len((await run.finish()).selected) == 2
    assert await trace.await_end(5)
    assert len(out) == 3


def test_w4_the_agent_says_what_it_is_for():
    told = finder().capabilities().as_json()
    assert (told["takes"], told["answers"]) == ("folder", "statement")
    assert "price" in str(told["objective"])
    found: Any = told["tools"]
    assert [(tool["name"], tool["takes"], tool["produces"], tool.get("producesOf")) for tool in found] == [
        ("list_folder", "folder", "list", "file"),
        ("read_document", "file", "document", None),
        ("split_statements", "document", "list", "statement"),
    ]
    assert "Office" in found[1]["description"]


async def test_an_agent_that_counts_words_comes_to_an_end_without_a_model():
    for folder in (CORPUS, SAMPLE / "corpus"):
        result = await finder(HeuristicClient(), max_turns=12).start(Folder(str(folder))).finish()
        assert result.success
        assert result.measured.cost == 0
        assert "split_statements" in tools(result)


# ------------------------------------------------------------------------------------------ the corpora

FINDS = {
    SAMPLE: ("board-minutes-2026-09-14.md", "leisure-committee-2026-10.md", "trustees-paper.docx"),
    TESTS: (FEBRUARY, MAY),
}
MIX = {
    SAMPLE: {"text": 12, "office": 4, "pdf": 2, "image": 3, "binary": 2, "empty": 1},
    TESTS: {"text": 15, "office": 3, "pdf": 3, "image": 6, "binary": 2, "empty": 1},
}


@pytest.mark.parametrize("folder", list(FINDS), ids=["sample", "tests"])
def test_a_manifest_says_what_is_in_its_folder_and_the_script_makes_just_that(folder):
    told = manifest(folder)
    there = {path.name: path.read_bytes() for path in (folder / "corpus").iterdir()}
    assert sorted(there) == [file["name"] for file in told["files"]]
    for file in told["files"]:
        data = there[file["name"]]
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    made = SCRIPT["corpora"](told["seed"])[folder]
    assert {name: data for name, (_, data) in made.files.items()} == there
    assert made.manifest(told["seed"]) == told


@pytest.mark.parametrize("seed", [SCRIPT["SEED"], 1, 77])
@pytest.mark.parametrize("folder", list(FINDS), ids=["sample", "tests"])
async def test_whatever_the_seed_the_deciding_statements_and_no_others_are_selected(folder, seed, tmp_path):
    corpus = SCRIPT["corpora"](seed)[folder]
    corpus.write(tmp_path, seed)
    files = await listed(tmp_path / "corpus")
    assert Counter(file.kind for file in files.values()) == MIX[folder]
    assert {name: file.kind for name, file in files.items()} == {
        name: kind for name, (kind, _) in corpus.files.items()
    }
    texts: dict[str, list[str]] = {}
    for name, file in files.items():
        try:
            text = await read(file)
        except InvalidInput:
            continue
        texts[name] = statements_of(text)
    assert len(texts) == MIX[folder]["text"] + 3
    for fact in (*corpus.deciding, *corpus.decoys):
        assert texts[fact.file].count(fact.statement) == 1, fact
        assert len(fact.statement) <= 120
    assert {fact.file for fact in corpus.deciding} == set(FINDS[folder])
    assert len(corpus.decoys) >= 8
    chosen = [fact.statement for fact in corpus.deciding]
    moves = ScriptedClient(script(FINDS[folder], chosen))
    result = await finder(moves).start(Folder(str(tmp_path / "corpus"))).finish()
    assert result.answer is not None
    assert [statement.text for statement in result.answer.iterands] == chosen
    assert result.end_reason == "model"


async def test_of_our_corpus_a_deciding_document_hides_and_a_decoy_speaks_of_prices_first():
    files = await listed(SAMPLE / "corpus")
    hides, speaks = files["board-minutes-2026-09-14.md"], files["autumn-newsletter.txt"]
    assert not any(word in str(hides.head).lower() for word in ("price", "cost", "percent", "swim"))
    assert str(speaks.head).startswith("A swim for ")
    assert any(fact["file"] == "autumn-newsletter.txt" for fact in manifest(SAMPLE)["decoys"])
    assert any(fact["file"].endswith(".docx") for fact in manifest(SAMPLE)["deciding"])


async def test_a_document_of_an_old_office_is_refused():
    files = await listed(SAMPLE / "corpus")
    assert files["letter-1998.doc"].kind == "office"
    assert "no Office document" in await refused(files["letter-1998.doc"])


# ------------------------------------------------------------------------------------------ listing


async def test_d1_a_folder_is_listed_by_name_with_kinds_and_first_words():
    files = await listed()
    made = await ListFolderTool(_NOBODY).run(Folder(str(CORPUS)))
    assert (len(made.iterands), made.iterand_type_alias) == (30, "file")
    assert list(files) == sorted(files)
    assert list(files)[:2] == ["FrameSerial.java", "README.md"]
    assert str(files[MAY].head).startswith("# Minutes of the price round")
    assert files["supplier-terms.notes"].kind == "text"
    assert (files["keys.enc"].kind, files["keys.enc"].head) == ("binary", None)
    names = ("notes.txt", "sky.png", "invoice-0417.pdf", "price-list.xlsx")
    assert [files[name].kind for name in names] == ["image", "image", "pdf", "office"]
    assert (files["empty.txt"].kind, files["empty.txt"].bytes) == ("empty", 0)
    world = World(DIGESTS)
    words = world.words(files[MAY])
    assert words.startswith(f"{MAY} (text, ")
    assert "KB): # Minutes of the price round" in words


async def test_only_the_files_of_a_folder_are_listed(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "deep.txt").write_text("deep")
    (tmp_path / "a.txt").write_text("some words")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert list(await listed(tmp_path)) == ["a.txt"]


async def test_d3_what_is_no_folder_is_refused(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("words")
    for path in (file, tmp_path / "none"):
        with pytest.raises(InvalidInput, match=r"path '.*': a folder of this machine is expected"):
            await listed(path)


async def test_a_folder_or_file_that_cannot_be_read_is_told_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("words")
    file = (await listed(tmp_path))["a.txt"]
    (tmp_path / "a.txt").unlink()
    with pytest.raises(ToolRefused, match=r"The file 'a\.txt' cannot be read: No such file") as why:
        await read(file)
    assert (why.value.technical, isinstance(why.value, InvalidInput)) == ("No such file or directory", False)
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(ToolRefused, match="cannot be read"):
        await read(file)

    def closed(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(ToolRefused, match=r"The folder '.*' cannot be read: Permission denied") as why:
        await listed(tmp_path)
    assert str(tmp_path) not in str(why.value)


@pytest.mark.parametrize(
    ("name", "head", "kind", "words"),
    [
        ("a.png", b"\x89PNG\r\n", "image", None),
        ("a.txt", b"\xff\xd8\xff\xe0", "image", None),
        ("a.bin", b"GIF89a", "image", None),
        ("a.bin", b"RIFF\x01\x02\x03\x04WEBP", "image", None),
        ("a.bin", b"RIFF\x01\x02\x03\x04WAVE", "binary", None),
        ("a", b"%PDF-1.7", "pdf", None),
        ("a.zip", b"PK\x03\x04rest", "office", None),
        ("a.doc", b"\xd0\xcf\x11\xe0rest", "office", None),
        ("a", b"", "empty", None),
        ("a.strange", b"plain words", "text", "plain words"),
        ("a.strange", b"\x00\x01\x02\x03", "binary", None),
        ("a.TXT", b"\x00\x01\x02\x03", "text", None),
        ("txt", b"\x00\x01\x02\x03", "binary", None),
        ("a.json", b"{}\t\r\n", "text", "{}\t\r\n"),
    ],
)
def test_the_first_bytes_say_what_a_file_is(name, head, kind, words):
    assert kind_of(name, head) == (kind, words)


# ------------------------------------------------------------------------------------------ reading


async def test_d2_texts_and_office_documents_are_read_and_all_else_is_refused_by_name():
    files = await listed()
    assert await read(files[MAY]) == (CORPUS / MAY).read_text(encoding="utf-8")
    document = await ReadDocumentTool(_NOBODY).run(files[MAY])
    assert (document.name, document.path) == (MAY, str(CORPUS / MAY))
    assert "Kestrel 1" in await read(files["price-list.xlsx"])
    assert "an image is read by a model that can see" in await refused(files["sky.png"])
    assert "a PDF is read by a model that can see" in await refused(files["invoice-0417.pdf"])
    assert "it is binary" in await refused(files["keys.enc"])
    assert "the file is empty" in await refused(files["empty.txt"])
    strange: Any = "hologram"
    assert "of the kind 'hologram'" in await refused(FileEntry("a", strange, 1, "/a"))


async def test_d4_noise_under_the_name_of_a_text_does_not_decode(tmp_path):
    (tmp_path / "junk.txt").write_bytes(Random(4).randbytes(2000))
    junk = (await listed(tmp_path))["junk.txt"]
    assert (junk.kind, junk.head) == ("text", None)
    assert "characters do not decode" in await refused(junk)


def test_exactly_five_percent_of_bad_characters_are_taken_and_one_more_is_not():
    assert decoded(b"\x00" * 5 + b"a" * 95) == "\x00" * 5 + "a" * 95
    with pytest.raises(Unreadable, match="6 of its 100 characters do not decode"):
        decoded(b"\x00" * 6 + b"a" * 94)
    with pytest.raises(Unreadable):
        decoded(b"\xff" * 501 + b"a" * 9499)
    assert decoded(b"") == ""
    assert bad_share("\n\r\t\u00e9") == 0


async def test_a_file_that_is_too_large_is_refused(tmp_path):
    with (tmp_path / "large.txt").open("wb") as file:
        file.write(b"words ")
        file.truncate(MAX_BYTES + 1)
    large = (await listed(tmp_path))["large.txt"]
    assert f"larger than {MAX_BYTES:,} bytes" in await refused(large)


def zipped(parts: dict[str, bytes | str], method: int = ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_the_text_of_an_office_document_is_that_of_its_parts_each_on_one_line():
    data = zipped(
        {
            "[Content_Types].xml": "<Types>no</Types>",
            "docProps/core.xml": "<x>no</x>",
            "word/styles.xml": "<x>no</x>",
            "word/settings.xml": "<x>no</x>",
            "word/theme/theme1.xml": "<x>no</x>",
            "word/_rels/document.xml.rels": "<x>no</x>",
            "word/_rels/more.xml": "<x>no</x>",
            "word/media/image.png": b"\x89PNG no",
            "word/empty.xml": "<x> </x>",
            "word/document.xml": "<p>A &amp;lt; B</p>\n<p>caf\u00e9 &quot;x&quot; &lt;y&gt;</p>",
            "xl/sharedStrings.xml": "<si>one</si><si>two</si>",
            "ppt/slides/slide1.xml": "<a>three</a>",
        }
    )
    assert office_text(data) == 'A &lt; B caf\u00e9 "x" <y>\none two\nthree'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zipped({"a.txt": "plain"}), "no readable part with text"),
        (zipped({"word/document.xml": "<x/>"}), "no readable part with text"),
        (b"PK\x03\x04 and then nothing", "no Office document that can be unpacked"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "no Office document that can be unpacked"),
        (zipped({"word/document.xml": "words " * 40}, ZIP_DEFLATED)[:90], "no Office document"),
        (zipped({"word/document.xml": "words"}).replace(b"words", b"swords"), "no Office document"),
        (zipped({"word/document.xml": "words"}).replace(b"words", b"sword"), "no Office document"),
    ],
    # An archive holds the time it was made: a test must be called the same in every process.
    ids=["other-parts", "no-text", "torn", "old-office", "cut", "longer", "damaged"],
)
def test_what_is_no_office_document_with_text_is_refused(data, why):
    with pytest.raises(Unreadable, match=why):
        office_text(data)


def test_a_document_that_unpacks_to_too_much_is_refused_whatever_it_says_of_its_size():
    half = b" " * (MAX_BYTES // 2)
    bomb = zipped({"word/document.xml": half, "word/more.xml": half + b"  "}, ZIP_DEFLATED)
    assert len(bomb) < 100_000
    with pytest.raises(Unreadable, match=f"more than {MAX_BYTES:,} bytes"):
        office_text(bomb)


def test_a_part_of_nothing_but_opening_brackets_is_read_like_any_other():
    assert office_text(zipped({"word/document.xml": "<" * 300_000 + "b>words"})) == "<" * 299_999 + " words"


# ------------------------------------------------------------------------------------------ digests


def test_d5_what_a_model_sees_of_the_types_of_this_agent():
    world = World(DIGESTS)
    assert world.words(Folder("/home/somebody/corpus")) == "the folder corpus"
    assert world.words(Folder("/")) == "the folder /"
    head = "x" * 99 + " \n\t  " + "y" * 50
    file = FileEntry("a.txt", "text", 900, "/a.txt", head)
    assert world.words(file) == f"a.txt (text, 900 bytes): {'x' * 99} ..."
    assert world.words(FileEntry("a.png", "image", 900, "/a.png")) == "a.png (image, 900 bytes)"
    assert world.words(FileEntry("a.txt", "text", 9, "/a.txt", " ")) == "a.txt (text, 9 bytes)"
    assert world.words(Document("a.txt", "z" * 120, "/a")) == f"a.txt (120 characters): {'z' * 100}..."
    statement = Statement("w" * 151, "a.txt", 7)
    assert world.words(statement) == f"a.txt #7: {'w' * 150}..."
    ref = world.adopt(statement)
    assert world.digest(statement) == f"{ref} (statement): {f'a.txt #7: {chr(119) * 150}'[:160]}..."[:400]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KB"),
        (1535, "1 KB"),
        (1536, "2 KB"),
        ((1 << 20) - 1, "1024 KB"),
        (1 << 20, "1.0 MB"),
        (1_600_000, "1.5 MB"),
    ],
)
def test_sizes_are_told_in_the_unit_that_fits(count, words):
    assert size_of(count) == words


# ------------------------------------------------------------------------------------------ splitting


async def test_d6_the_minutes_are_taken_apart():
    document = await ReadDocumentTool(_NOBODY).run((await listed())[MAY])
    made = await SplitStatementsTool(_NOBODY).run(document)
    texts = [statement.text for statement in made.iterands]
    assert JUNE in texts
    assert "The Kestrel 1 is not affected by this." in texts
    assert any(text.endswith("sends the new price list to all dealers.") for text in texts)
    assert not any(text.startswith("#") for text in texts)
    assert [statement.ordinal for statement in made.iterands] == list(range(1, len(texts) + 1))
    assert {statement.source for statement in made.iterands} == {MAY}


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "# A heading\n\nThe first one is\nhere. And the second! Gone.\n- a bullet of words",
            ["The first one is here.", "And the second!", "a bullet of words"],
        ),
        ("", []),
        (
            "two words\r\nand more\r\n\r\nanother paragraph here",
            ["two words and more", "another paragraph here"],
        ),
        (
            "1. Frames\n2) the second item\n* the third item\n+ the fourth item\n• the fifth item",
            ["the second item", "the third item", "the fourth item", "the fifth item"],
        ),
        ("- a wrapped bullet is\n  cut in two here", ["a wrapped bullet is", "cut in two here"]),
        ("Ask Ms. Xu about this now.", ["Xu about this now."]),
        (
            "It costs 1.50 more. (So they say) \"Really\"! [And it is so] Is it? 'Yes it is now.'",
            ["It costs 1.50 more.", '(So they say) "Really"!', "[And it is so] Is it?", "'Yes it is now.'"],
        ),
        ("ends without a mark. next one too is small", ["ends without a mark. next one too is small"]),
        ("-no item, a paragraph", ["-no item, a paragraph"]),
    ],
)
def test_a_text_is_taken_apart_into_statements(text, statements):
    assert statements_of(text) == statements


async def test_a_document_without_statements_gives_an_empty_list():
    made = await SplitStatementsTool(_NOBODY).run(Document("a", "# Nothing", "/a"))
    assert (made.iterands, made.iterand_type_alias) == ((), "statement")


async def test_a_refusal_in_a_run_names_the_file_it_is_about():
    moves = ScriptedMoves([("list_folder", ""), ("read_document", "keys.enc")])
    told: list[Any] = []
    run = finder(ScriptedClient(moves)).start(Folder(str(CORPUS)), observers=[told.append], max_turns=2)
    result = await run.finish()
    assert result.turns[1].failure == "file 'keys.enc': it is binary, and there is no text in it"
    assert any(event.message == result.turns[1].failure for event in of(JobEnded, told))
