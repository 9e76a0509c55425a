"""Which tests continuous integration finds skipped in all of its parts."""

from tests.parts import skipped_everywhere

CASE = '<testcase classname="tests.a" name="{}">{}</testcase>'
SKIPPED = '<skipped message="no torch"/>'


def test_tests_that_no_part_runs_are_named_with_the_reason(tmp_path):
    reports = []
    for part, runs in {"long": [0, 0, 1], "engines": [0, 1, 0]}.items():
        cases = [
            CASE.format(f"test_{i}", "" if runs[i] else SKIPPED) for i in range(3)
        ]
        reports.append(tmp_path / f"{part}.xml")
        text = "".join(cases)
        reports[-1].write_text(
            f"<testsuites><testsuite>{text}</testsuite></testsuites>"
        )
    assert skipped_everywhere(reports) == {"tests.a::test_0": "no torch"}
