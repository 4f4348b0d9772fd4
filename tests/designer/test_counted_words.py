"""A tree that is decided by counted words, in the app: chosen without trust, as nothing is sent anywhere."""

import asyncio

import pytest

from designer.forms.models import ModelForm
from designer.running import choose_model, name_of, names_a_model, place_of, try_out
from engine import DeciderName, DeciderSettings, Project

COUNTED = DeciderSettings(kind=DeciderName.heuristic)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_that_has_words_counted_needs_no_trust(trusted):
    choice = choose_model(Project(decider={"kind": "heuristic"}), DeciderSettings(), trusted=trusted)
    assert (choice.settings, choice.withheld) == (COUNTED, None)
    assert choice.name == "words in common"


def test_it_is_complete_as_it_is_and_says_where_it_happens():
    assert names_a_model(COUNTED)
    assert (name_of(COUNTED), place_of(COUNTED)) == ("words in common", "this computer")


def test_the_form_has_nothing_to_fill_in_for_it(qtbot):
    form = ModelForm(COUNTED)
    qtbot.addWidget(form)
    form.check()
    assert form.settings == COUNTED
    for field in (form._address, form._model, form._key, form._fallbacks):
        assert not field.isEnabled()
    assert form._note.text == ""


def test_it_can_be_tried(aloop: asyncio.AbstractEventLoop):
    trial = aloop.run_until_complete(try_out(COUNTED))
    assert (trial.failure, trial.answer is None) == (None, False)
