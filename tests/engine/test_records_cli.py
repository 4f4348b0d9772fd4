"""The commands on record stores of both kinds."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from engine.cli import app
from engine.records import (
    AskedQuestion,
    Confirmed,
    NoulAnswer,
    Record,
    ScoreAnswer,
    Signal,
    line_of,
    load_records,
    open_store,
)
from tests.stores import FIRST, decision_id, filled, records

KINDS = ("s.jsonl", "s.sqlite")
SAMPLE = Path(__file__).parents[1] / "data" / "records"


@pytest.fixture(params=KINDS)
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return filled(tmp_path / request.param, 100)


def said(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["records", *map(str, arguments)])


def numbers(store: Path) -> dict[str, object]:
    told: dict[str, object] = json.loads(said("stats", store, "--json").stdout)
    return told


def outcomes(store: Path, tmp_path: Path) -> list[object]:
    out = tmp_path / f"out-{os.urandom(4).hex()}.jsonl"
    assert said("export", store, out).exit_code == 0
    return [outcome for decision in load_records(out).decisions for outcome in decision.outcomes]


@pytest.mark.parametrize("kind", KINDS)
def test_an_import_takes_every_decision_and_outcome_once(store: Path, tmp_path: Path, kind: str):
    assert said("outcome", store, decision_id(3), "--signal", "paid").exit_code == 0
    target = tmp_path / f"new-{kind}"
    first = said("import", store, target)
    assert (first.exit_code, first.stdout) == (
        0,
        f"100 decisions and 1 outcome written into {target}.\n",
    )
    again = said("import", store, target)
    assert (again.exit_code, again.stdout) == (
        0,
        f"0 decisions and 0 outcomes written into {target}; 100 were there already.\n",
    )
    assert numbers(target) | {"store": None} == numbers(store) | {"store": None}


def test_an_import_brings_new_outcomes_of_known_decisions(store: Path, tmp_path: Path):
    target = tmp_path / "t.sqlite"
    said("import", store, target)
    said("outcome", store, decision_id(3), "--signal", "paid")
    assert said("import", store, target).stdout.startswith("0 decisions and 1 outcome")


def test_what_was_erased_in_a_file_is_not_taken_and_bad_lines_are_told(tmp_path: Path):
    source = filled(tmp_path / "s.jsonl", 3)
    with source.open("ab") as file:
        file.write(json.dumps({"kind": "erasure", "version": 1, "decisionId": decision_id(1)}).encode())
        file.write(b"\n{broken\n")
        file.write(line_of(replace(next(records(1)), decision_id="last")))
    result = said("import", source, tmp_path / "t.sqlite")
    assert result.exit_code == 0
    assert result.stdout == f"3 decisions and 0 outcomes written into {tmp_path / 't.sqlite'}.\n"
    assert result.stderr.splitlines()[0] == "1 line could not be used:"
    assert result.stderr.splitlines()[1].startswith("  line 5: ")
    assert "broken" not in result.stderr


def test_a_cut_last_line_is_told_and_waited_for_by_nobody(tmp_path: Path):
    source = filled(tmp_path / "s.jsonl", 2)
    source.write_bytes(source.read_bytes()[:-20])
    result = said("import", source, tmp_path / "t.jsonl")
    assert result.stdout.startswith("1 decision and 0 outcomes")
    assert "line 2: The last line is incomplete." in result.stderr


def test_an_export_is_a_new_file_that_reads_the_same(store: Path, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    assert said("export", store, out).exit_code == 0
    reading = load_records(out)
    assert [decision.record for decision in reading.decisions] == list(records(100))
    assert reading.problems == ()
    assert out.stat().st_mode & 0o777 == 0o600
    refused = said("export", store, out)
    assert (refused.exit_code, refused.stderr) == (
        1,
        f"{out} is there already; export writes a new file.\n",
    )


def test_statistics_are_one_document_or_a_few_lines(store: Path):
    told = numbers(store)
    assert told | {"models": None} == {
        "store": str(store),
        "decisions": 100,
        "confirmed": 0,
        "withSignal": 0,
        "withoutOutcome": 100,
        "errors": 1,
        "trees": {"order-desk": 100},
        "models": None,
        "errorKinds": {"Timeout": 1},
        "problems": [],
    }
    lines = said("stats", store).stdout.splitlines()
    assert lines[0] == "decisions: 100"
    assert "trees: order-desk 100" in lines


# -- outcomes


def test_an_answer_is_confirmed_with_who_says_so_and_when(store: Path, tmp_path: Path):
    first = next(records(100))
    (question,) = first.questions
    answer = first.questions[question].options[0]
    result = said(
        "outcome", store, first.decision_id, "--confirm", f"{question}={answer}",
        "--source", "desk", "--at", "2026-11-02T09:00:00+01:00",
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "The outcome is stored.\n")
    (outcome,) = outcomes(store, tmp_path)
    assert isinstance(outcome, Confirmed)
    assert (outcome.source, outcome.at.isoformat(), outcome.answers) == (
        "desk",
        outcome.at.isoformat(),
        {question: answer},
    )
    assert outcome.at.timestamp() == FIRST.replace(month=11, day=2).timestamp()
    assert numbers(store)["confirmed"] == 1


def test_a_signal_has_a_value_and_a_note(store: Path, tmp_path: Path):
    made = said("outcome", store, decision_id(0), "--signal", "paid", "--value", "12.5", "--note", "by card")
    assert made.exit_code == 0
    (outcome,) = outcomes(store, tmp_path)
    assert isinstance(outcome, Signal)
    assert (outcome.name, outcome.value, outcome.note, outcome.source) == ("paid", 12.5, "by card", "cli")


def test_yes_no_and_levels_are_said_in_words(tmp_path: Path):
    store = tmp_path / "s.jsonl"
    asked = {"sure": AskedQuestion("noul", "?"), "much": AskedQuestion("score", "?", ["none", "some"])}
    answers = (NoulAnswer("sure", 0.2, 0.6), ScoreAnswer("much", 1, 0.8, 0.6, (0.2, 0.8)))
    plain = Record(
        decision_id="d", started=FIRST, latency_ms=1, provider="p", endpoint="e", default_model="m",
        questions=asked, state="s", answers=answers,
    )  # fmt: skip
    store.write_bytes(line_of(plain) + b"\n")
    assert said("outcome", store, "d", "--confirm", "sure=yes", "--confirm", "much=0").exit_code == 0
    (outcome,) = load_records(store).decisions[0].outcomes
    assert isinstance(outcome, Confirmed)
    assert outcome.answers == {"sure": True, "much": 0}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["none", "--signal", "x"], 1, "There is no such decision."),
        ([decision_id(0), "--confirm", "none=x"], 1, "The decision has no question 'none'. It has: "),
        ([decision_id(0)], 2, "Give either --confirm or --signal."),
        ([decision_id(0), "--confirm", "a=b", "--signal", "x"], 2, "Give either --confirm or --signal."),
        ([decision_id(0), "--confirm", "ab"], 2, "'ab' is not of the form QUESTION=ANSWER."),
        ([decision_id(0), "--confirm", "a=b", "--note", "n"], 2, "It belongs to a signal."),
        ([decision_id(0), "--signal", "x", "--at", "now"], 2, "'now' is no moment such as"),
        ([decision_id(0), "--signal", "x", "--value", "nan"], 1, "The member 'value' must be finite."),
    ],
)
def test_an_outcome_that_fits_nothing_is_refused(store: Path, tmp_path: Path, arguments, code, words):
    result = said("outcome", store, *arguments)
    assert result.exit_code == code
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert outcomes(store, tmp_path) == []


def test_an_answer_that_was_not_offered_is_refused_with_those_that_were(store: Path):
    first = next(records(100))
    (question,) = first.questions
    options = ", ".join(first.questions[question].options)
    result = said("outcome", store, first.decision_id, "--confirm", f"{question}=none")
    assert (result.exit_code, result.stderr) == (
        1,
        f"'none' is no answer to '{question}'. Answers are: {options}.\n",
    )


# -- erasing


def test_erasing_by_key_leaves_no_byte_of_it(store: Path):
    result = said("erase", store, "--key", "customer-1", "--yes")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "Erased 40 decisions:"
    assert result.stdout.splitlines()[1] == f"  {decision_id(40)}"
    assert result.stdout.splitlines()[-1] == "  and 20 more"
    assert numbers(store)["decisions"] == 60
    for file in store.parent.iterdir():
        data = file.read_bytes()
        assert b"customer-1" not in data
        assert not any(decision_id(number).encode() in data for number in range(40, 80))
        assert b"Parcel 41 arrived" not in data


def test_erasing_one_decision_takes_its_outcomes_along(store: Path, tmp_path: Path):
    said("outcome", store, decision_id(7), "--signal", "paid")
    result = said("erase", store, "--id", decision_id(7), "--yes")
    assert result.stdout == f"Erased 1 decision:\n  {decision_id(7)}\n"
    assert outcomes(store, tmp_path) == []
    assert numbers(store)["decisions"] == 99


def test_erasing_nothing_is_all_right(store: Path):
    result = said("erase", store, "--key", "nobody")
    assert (result.exit_code, result.stdout) == (0, "Erased 0 decisions.\n")


def test_off_a_terminal_nothing_is_asked_and_nothing_erased(store: Path):
    result = said("erase", store, "--id", decision_id(7))
    assert (result.exit_code, result.stderr) == (1, "1 decision would be erased. Say --yes to agree.\n")
    assert numbers(store)["decisions"] == 100
    assert said("erase", store).exit_code == 2
    assert said("erase", store, "--key", "a", "--id", "b").exit_code == 2


def test_compacting_gives_space_back(store: Path):
    with store.open("ab") as file:
        if store.suffix == ".jsonl":
            file.write(b"{broken\n")
    for key in range(2):
        said("erase", store, "--key", f"customer-{key}", "--yes")
    before = store.stat().st_size
    result = said("compact", store)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{store}: {before:,} bytes before, {store.stat().st_size:,} bytes now.\n",
    )
    assert numbers(store)["decisions"] == 20
    assert numbers(store)["problems"] == []


# -- what is no store


@pytest.mark.parametrize("command", ["stats", "compact"])
def test_a_store_that_is_not_there_is_told(tmp_path: Path, command: str):
    result = said(command, tmp_path / "none.sqlite")
    assert result.exit_code == 2
    assert result.stderr == f"{tmp_path / 'none.sqlite'} cannot be read: No such file or directory.\n"
    assert not list(tmp_path.iterdir())


def test_the_name_says_what_a_store_is(tmp_path: Path):
    result = said("stats", tmp_path / "records.db")
    assert (result.exit_code, result.stderr) == (
        2,
        f"{tmp_path / 'records.db'}: The name of a record store ends in .jsonl or .sqlite.\n",
    )


def test_a_database_of_another_program_is_refused(tmp_path: Path):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other (a)")
    result = said("stats", path)
    assert (result.exit_code, result.stderr) == (2, f"{path}: The file is not a record store.\n")


def test_a_store_another_program_writes_to_is_read_and_not_written(store: Path):
    with closing(open_store(store)):
        assert numbers(store)["decisions"] == 100
        result = said("outcome", store, decision_id(0), "--signal", "x")
        assert (result.exit_code, result.stderr) == (
            1,
            f"{store}: Another program is writing to this record store.\n",
        )


def test_a_store_is_not_copied_into_itself(store: Path):
    result = said("import", store, store)
    assert (result.exit_code, result.stderr) == (1, "A store cannot be copied into itself.\n")


def test_the_sample_of_the_seed_is_read(tmp_path: Path):
    sample = next(SAMPLE.glob("*.jsonl"))
    told = numbers(sample)
    assert told["problems"] == []
