"""Questions about an input are warned of once, and are in the notes of its result."""

import warnings

import numpy as np
import pytest

import sampled_metrics as sm

SCORES = np.random.default_rng(3).normal(size=(60, 101))
HELD_OUT = np.zeros(60, int)


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    return result, found


def test_several_questions_are_counted_in_one_warning():
    result, (warning,) = caught(lambda: sm.evaluate(-SCORES, relevant=HELD_OUT))
    assert len(result.notes) > 1
    assert str(warning.message).startswith(f"{len(result.notes)} warnings")
    assert warning.message.notes == tuple(result.notes)
    assert warning.filename == __file__


def test_a_single_question_is_in_full():
    ranks = sm.Ranks([101] * 60, np.arange(60), [0] * 60)
    result, (warning,) = caught(lambda: sm.evaluate(ranks, "auc"))
    assert result.notes == [str(warning.message)]


def test_a_meter_warns_once():
    meter = sm.RankMeter("rr")
    meter.update(-SCORES, HELD_OUT)
    result, (warning,) = caught(meter.compute)
    assert warning.message.notes == tuple(result.notes)


def test_a_page_has_them(tmp_path):
    page = tmp_path / "page.html"
    _, (warning,) = caught(
        lambda: sm.report({"A": -SCORES}, page, "auc", relevant=HELD_OUT)
    )
    assert len(warning.message.notes) > 1
    assert "the page" in str(warning.message)


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize("to_file", [True, False])
def test_the_command_writes_each_once(run, form, to_file, tmp_path):
    """Below a printed table, and else on standard error, each in full."""
    path = tmp_path / "scores.npy"
    np.save(path, -SCORES)
    held_out = tmp_path / "test.csv"
    held_out.write_text(
        "user_id,item_id\n" + "".join(f"{user},0\n" for user in range(60))
    )
    output = ["--output", str(tmp_path / "out.txt")] if to_file else []
    arguments = ["evaluate", str(path), "--relevant", str(held_out), "--format", form]
    done = run(*arguments, *output)
    assert not done.returncode
    printed = " ".join(done.stdout.split())
    words = "look like sampled candidates"
    assert done.stderr.count(words) == (form != "table" or to_file)
    if form == "table" and not to_file:
        assert printed.count(words) == 1
    assert "warnings about" not in printed + done.stderr
