"""The JSON layer: what is accepted, what is refused and where, and where a pointer points."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import jsontext
from engine.errors import DocumentRefused, Problem
from tests.builders import json_values, words

SUITE = Path(__file__).parents[1] / "data" / "jsontestsuite" / "test_parsing"
REFUSED_ON_PURPOSE = {
    "y_object_duplicated_key.json": "json-duplicate-key",
    "y_object_duplicated_key_and_value.json": "json-duplicate-key",
    "y_object_escaped_null_in_key.json": "json-control",
}


def refusal(data: bytes) -> DocumentRefused:
    with pytest.raises(DocumentRefused) as caught:
        jsontext.parse(data)
    return caught.value


def place(data: bytes) -> tuple[str, int, int]:
    error = refusal(data)
    return error.code, error.line, error.column


@pytest.mark.parametrize("file", sorted(SUITE.glob("y_*.json")), ids=lambda file: file.name)
def test_every_valid_document_is_accepted(file: Path):
    data = file.read_bytes()
    if file.name in REFUSED_ON_PURPOSE:
        assert refusal(data).code == REFUSED_ON_PURPOSE[file.name]
    else:
        assert jsontext.parse(data) == json.loads(data)


@pytest.mark.parametrize("file", sorted(SUITE.glob("n_*.json")), ids=lambda file: file.name)
def test_every_invalid_document_is_refused_with_its_place(file: Path):
    data = file.read_bytes()
    error = refusal(data)
    lines = data.count(b"\n") + 1
    assert error.code.startswith("json-")
    assert error.message[0].isupper()
    assert 1 <= error.line <= lines
    assert error.column >= 1


def test_the_whole_suite_is_there():
    assert len(list(SUITE.glob("y_*.json"))) == 95
    assert len(list(SUITE.glob("n_*.json"))) == 188


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{\n  "a": 1,\n  "a": 2\n}', ("json-duplicate-key", 3, 3)),
        (b"[1,\n NaN]", ("json-number", 2, 2)),
        (b"[-Infinity]", ("json-number", 1, 2)),
        (b"[1,\n  1e400]", ("json-number", 2, 3)),
        (b"[-1e400]", ("json-number", 1, 2)),
        (b"[" + b"9" * 5000 + b"]", ("json-number", 1, 2)),
        (b'{"a":\n"\\ud800"}', ("json-surrogate", 2, 1)),
        (b'["\\udc00\\ud800"]', ("json-surrogate", 1, 2)),
        (b'["\\\\ud800\\udc00"]', ("json-surrogate", 1, 2)),
        (b'{"\\ud800": 1}', ("json-surrogate", 1, 2)),
        (b'{"a": 1,\n "b\\u0000": 1}', ("json-control", 2, 2)),
        (b'{"\\n": 1}', ("json-control", 1, 2)),
        (b'["a\nb"]', ("json-syntax", 1, 4)),
        (b'{"a": "x"\n "b": 1}', ("json-syntax", 2, 2)),
        (b'{"a": 1}\n]', ("json-syntax", 2, 1)),
        ('["ää", x]'.encode(), ("json-syntax", 1, 8)),
        (b'[\n"a\xff"]', ("json-encoding", 2, 3)),
        (b"\xff\xfe[\x00]\x00", ("json-encoding", 1, 1)),
        (b"\xed\xa0\x80", ("json-encoding", 1, 1)),
        (b"\xef\xbb\xbf\xef\xbb\xbf[]", ("json-syntax", 1, 1)),
        (b"", ("json-syntax", 1, 1)),
        (b" \n\t ", ("json-syntax", 1, 1)),
        (b"[" * 65 + b"]" * 65, ("json-too-deep", 1, 65)),
        (b'{"a":' * 65 + b"1" + b"}" * 65, ("json-too-deep", 1, 321)),
        (b"[" * 100_000, ("json-too-deep", 1, 65)),
        (b" " * (jsontext.MAX_BYTES + 1), ("json-too-large", 1, 1)),
    ],
)
def test_a_refusal_names_its_place(data: bytes, expected: tuple[str, int, int]):
    assert place(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xef\xbb\xbf[1]", [1]),
        (b'["\\ud83d\\ude00"]', ["\U0001f600"]),
        (b'["\\\\ud800"]', ["\\ud800"]),
        (b'["\\u0000\\n"]', ["\0\n"]),
        (b'{"a\\"]}": "{[\\\\"}', {'a"]}': "{[\\"}),
        (b"[1.0, -0, 1E2, 1e-400]", [1.0, 0, 100.0, 0.0]),
        (b"[" * 64 + b"]" * 64, None),
        (b'["' + b"[" * 100 + b'", "' + b"}" * 99 + b'"]', ["[" * 100, "}" * 99]),
        (b"\r\n\t null", None),
    ],
)
def test_unusual_documents_are_accepted(data: bytes, expected: object):
    value = jsontext.parse(data)
    assert expected is None or value == expected


def test_a_file_may_be_as_large_as_a_document_and_not_a_byte_larger(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(jsontext, "MAX_BYTES", 4)
    file = tmp_path / "a.json"
    file.write_bytes(b"[12]")
    assert jsontext.document_bytes(file) == b"[12]"
    file.write_bytes(b"[123]")
    with pytest.raises(DocumentRefused) as caught:
        jsontext.document_bytes(file)
    assert caught.value.problem == Problem(
        "json-too-large", "error", "The file is larger than 16 MB.", line=1, column=1
    )
    with pytest.raises(DocumentRefused):
        jsontext.document_bytes(Path("/dev/zero"))


def test_a_long_name_is_cut_in_the_message():
    name = b'"' + b"n" * 500 + b'"'
    assert len(refusal(b"{" + name + b":1," + name + b":2}").message) < 150


@given(json_values, st.sampled_from([None, 1, 4]), st.booleans())
def test_any_value_comes_back(value: object, indent: int | None, ascii_only: bool):
    assert jsontext.parse(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()) == value


@given(json_values)
def test_writing_has_the_layout_of_the_standard_library(value: object):
    assert jsontext.write(value).decode() == json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@given(st.text(alphabet='{}[]",:\\ut0d8c123e.- \n', max_size=30))
def test_only_what_the_standard_parser_accepts_is_accepted(text: str):
    try:
        value = jsontext.parse(text.encode())
    except DocumentRefused:
        return
    assert value == json.loads(text)


# ------------------------------------------------------------------------------------------ places

TEXT = """{
  "a": {"b/c": [10,
    {"d~": true}]},
  "e": null
}"""


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", (1, 1)),
        ("/a", (2, 3)),
        ("/a/b~1c", (2, 9)),
        ("/a/b~1c/0", (2, 17)),
        ("/a/b~1c/1", (3, 5)),
        ("/a/b~1c/1/d~0", (3, 6)),
        ("/e", (4, 3)),
        ("/a/b~1c/7/x", (2, 9)),
        ("/e/missing", (4, 3)),
        ("/missing", (1, 1)),
    ],
)
def test_a_pointer_is_found_or_its_nearest_parent(pointer: str, expected: tuple[int, int]):
    assert jsontext.locate(TEXT, pointer) == expected


def test_many_pointers_are_found_in_one_reading():
    assert jsontext.places(TEXT, ["/e", "/a", "/a/b~1c/1"]) == {
        "/e": (4, 3),
        "/a": (2, 3),
        "/a/b~1c/1": (3, 5),
    }
    assert jsontext.places(TEXT, []) == {}


@given(st.lists(words | st.sampled_from(["~", "/", "~1", "a/b", "0"])))
def test_a_pointer_keeps_its_path(path: list[str]):
    assert jsontext.path_of(jsontext.pointer(*path)) == tuple(path)
