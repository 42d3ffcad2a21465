"""The page: complete, harmless, readable without colour, linear in the length of the run."""

import dataclasses
import itertools
import re
from html.parser import HTMLParser

from butfor import report
from butfor.report.findings import read_finding
from butfor.report.page import states_of
from tests.unit.report.stories import HOSTILE, bill_of, data_of, run_of, withheld

VOID = {"meta", "br", "line", "path", "circle", "rect", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Reads a page: its elements, its attributes, its text, and what was left open."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["title"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def page_of(data: report.ReportData) -> Page:
    return Page(report.render_html(data))


def test_every_element_is_closed_where_it_was_opened():
    for data in (data_of(5), data_of(3, hostile=HOSTILE), report.ReportData(run=run_of(2))):
        page = page_of(data)
        assert (page.open, page.wrong) == ([], [])


def test_it_says_which_step_decided_how_sure_that_is_and_what_it_would_have_saved():
    heading = re.search(r"<h1>(.*?)</h1>", report.render_html(data_of(4, decisive=2)), re.DOTALL)
    assert heading
    said = heading[1]
    assert "Step 2" in said
    assert "95% confidence" in said
    assert "from 1.00 to 0.20 (saving 0.80, between 0.65 and 0.90)" in said


def test_a_hostile_trace_adds_no_element_and_no_attribute():
    """The page of a hostile run has exactly the elements and attribute names of the page of a tame one."""

    def shape(data: report.ReportData) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in page_of(data).elements]

    tame = data_of(4, hostile="tame ")
    assert shape(tame) == shape(data_of(4, hostile=HOSTILE))


def test_a_hostile_trace_is_shown_and_does_not_act():
    page = report.render_html(data_of(4, hostile=HOSTILE))
    assert "<script" not in page
    assert "<img" not in page
    assert "{{ 7*7 }}" in page
    assert "&lt;script&gt;document.title=" in page
    assert not set(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\ud800\U000e0041]", page))
    assert r"\u202eright to left\u202c" in page
    page.encode("utf-8")


def test_hostile_text_is_escaped_inside_the_picture_too():
    picture = report.render_html(data_of(4, hostile=HOSTILE)).partition("<svg")[2].partition("</svg>")[0]
    assert "search&lt;/pre&gt;" in picture
    assert "onload=" not in picture.replace("onload=alert(2)&gt;", "")
    inside = Page("<svg" + picture + "</svg>")
    assert {"svg", "title", "desc", "text", "line", "g", "rect", "path", "circle"} >= {
        tag for tag, _ in inside.elements
    }


def test_it_asks_no_host_and_forbids_itself_scripts():
    page = page_of(data_of(4))
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for tag, attributes in page.elements:
        assert tag not in {"script", "link", "img", "iframe", "object", "base", "form"}
        assert not {"src", "srcset", "data", "action", "poster", "xlink:href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in report.render_html(data_of(4))
    assert "@import" not in report.render_html(data_of(4))


def test_what_colour_says_is_said_by_shape_and_by_word_too():
    page = page_of(data_of(4, decisive=1))
    assert "◆ decisive" in page.text
    assert "⚑ commit point" in page.text
    assert "mechanical" in page.text
    marks = [attributes.get("class") for tag, attributes in page.elements if tag == "g"]
    assert marks == ["row dot", "row diamond", "row ring", "row ring"]
    assert sum("hollow" in (attributes.get("class") or "") for _, attributes in page.elements) == 2 * 3


def test_the_picture_has_words_and_the_numbers_are_in_a_table():
    page = page_of(data_of(3))
    assert ("svg", "img") in [(tag, attributes.get("role")) for tag, attributes in page.elements]
    assert "For each of 3 steps a point with a 95% interval" in page.text
    assert "+0.80 [+0.55, +0.90]" in page.text
    assert "64 + 1 reused" in page.text
    assert "3 (2 unsupported)" in page.text


def test_an_undefined_number_is_never_zero_and_gives_its_reason():
    page = page_of(data_of(3, hostile="the request is missing"))
    assert page.text.count("undefined (the request is missing)") == 3
    row = page.text.partition("missing What it did")
    assert "undefined undefined undefined" in (row[2] or page.text)


def test_what_entered_since_the_step_before_is_marked():
    states = list(states_of(run_of(3)))
    assert not any(message.is_new for message in states[0].messages)
    assert [message.role for message in states[1].messages] == ["user", "assistant", "tool"]
    assert [message.is_new for message in states[1].messages] == [False, True, True]
    assert (states[1].total, states[1].unchanged) == (4, 1)
    html = report.render_html(data_of(3))
    assert re.search(r'<div class="message new"><div class="who">tool <span class="tag">new</span>', html)
    assert "<mark>result 0 </mark>" in html


def test_a_hundred_steps_make_a_page_that_grows_by_the_step():
    short, long = (len(report.render_html(data_of(count))) for count in (50, 100))
    assert long < 2.1 * short
    page = page_of(data_of(100, decisive=37))
    assert [f"step-{k}" for k in range(100)] == [a["id"] for tag, a in page.elements if tag == "article"]
    rows = [float(a["y"] or 0) for _, a in page.elements if a.get("class") == "label"]
    assert min(b - a for a, b in itertools.pairwise(rows)) >= 18  # rows do not overlap at 12 px text


def test_a_set_of_steps_is_shown_as_one():
    data = data_of(6, decisive=2)
    assert data.finding
    data = dataclasses.replace(data, finding=withheld(data.finding, candidates=(1, 2, 4), points=(1, 2, None)))
    page = page_of(data)
    assert "the decisive step lies between steps 1 and 4" in page.text
    assert page.text.count("may be decisive") == 3
    assert "one of steps 1 and 2, or none; the bounds do not tell" in page.text
    assert "◆" not in page.text.partition("dotted lines")[2]


def test_a_run_without_an_answer_is_shown_alone():
    page = page_of(report.ReportData(run=run_of(2)))
    assert "This run was not attributed yet." in page.text
    assert "svg" not in {tag for tag, _ in page.elements}
    assert "result 1" in page.text


def test_a_run_without_steps_has_a_page():
    assert "The run has no steps." in page_of(report.ReportData(run=run_of(0))).text


def test_an_answer_without_steps_has_a_page():
    finding = read_finding({"method": "none", "kind": "not_replayable", "sentence": "The run cannot be replayed: why."})
    page = page_of(report.ReportData(run=run_of(2), finding=finding, bill=bill_of(0)))
    assert "The run cannot be replayed: why." in page.text
    assert "not replayable" in page.text
    assert "svg" not in {tag for tag, _ in page.elements}
