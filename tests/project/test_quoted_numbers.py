"""Numbers in README and documentation are those of the files that commands write."""

import pytest

from benchmarks import quote


@pytest.mark.parametrize("page", quote.PAGES, ids=lambda page: page.name)
def test_make_quote_changes_nothing(page):
    text = page.read_text("utf-8")
    assert quote.quoted(text) == text, "run make quote"


@pytest.fixture
def hits(monkeypatch):
    """A source of three values."""
    values = {"all": "1,250", "line": "1,250 of 9,000", "table": "| hits |\n| --: |\n| 1,250 |\n"}
    monkeypatch.setattr(quote, "SOURCES", {"hits": lambda: values})


@pytest.mark.usefixtures("hits")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("4<!-- hits: all --> or 4 hits", "1,250<!-- hits: all --> or 4 hits"),
        ("**1,249.5<!-- hits: all -->**.", "**1,250<!-- hits: all -->**."),
        ("`4` `4 of 9`<!-- hits: line -->", "`4` `1,250 of 9,000`<!-- hits: line -->"),
        (
            '<!-- below: 4 = hits: all -->\n<img alt="HR@14: 4.">',
            '<!-- below: 1,250 = hits: all -->\n<img alt="HR@14: 1,250.">',
        ),
        (
            "<!-- table hits: table -->\n| 4 |\n<!-- end -->\n| 4 |",
            "<!-- table hits: table -->\n| hits |\n| --: |\n| 1,250 |\n<!-- end -->\n| 4 |",
        ),
        ("4 <!-- of 9 --> <!-- end -->", "4 <!-- of 9 --> <!-- end -->"),
    ],
)
def test_only_named_numbers_are_written(old, new):
    assert quote.quoted(old) == new
    assert quote.quoted(new) == new


@pytest.mark.usefixtures("hits")
@pytest.mark.parametrize(
    "text",
    [
        "4<!-- hits: none -->",
        "4<!-- no_hits: all -->",
        "4 <!-- hits: all -->",
        '<!-- below: 4 = hits: all -->\n<img alt="5">',
        '<!-- below: 4 = hits: all -->\n<img alt="4 or 4">',
        '<!-- below: 4 = hits -->\n<img alt="4">',
        "<!-- below: 4 = hits: all -->\n4",
        "<!-- table hits: table -->\n| 4 |",
    ],
)
def test_comments_that_name_no_number_are_refused(text):
    with pytest.raises(ValueError, match="hits"):
        quote.quoted(text)
