"""The planted corpus: people who found companies that sit in cities, with namesakes and outdated pages between."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from butfor.noise import generator

_START = (
    "Ba",
    "Ce",
    "Do",
    "Fa",
    "Gi",
    "Ha",
    "Jo",
    "Ka",
    "Li",
    "Mo",
    "Na",
    "Or",
    "Pe",
    "Qui",
    "Ra",
    "Se",
    "Ta",
    "Ve",
    "Wi",
    "Ze",
)
_MIDDLE = ("l", "m", "nd", "r", "rt", "s", "st", "v", "ll", "nn")
_END = {
    "person": ("a", "en", "o", "is"),
    "company": ("ex", "ora", "ion", "ware"),
    "city": ("burg", "ton", "ville", "ford"),
}
_WORD = re.compile(r"[a-z0-9]+")
SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page.

    Attributes:
        text: What a search matches and a reader sees.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """In which city is the company that a person founded?

    Attributes:
        person: First and last name; the last name has namesakes.
        answer: The city, for the verifier alone.
    """

    person: str
    answer: str

    @property
    def text(self) -> str:
        """The question in words."""
        return f"In which city is the company founded by {self.person} headquartered?"


@dataclass(frozen=True, kw_only=True, eq=False)  # searches are remembered by corpus: no hash over all of its pages
class Corpus:
    """Pages and questions.

    Attributes:
        pages: All pages.
        questions: One a company.
    """

    pages: tuple[Page, ...]
    questions: tuple[Question, ...]

    def search(self, query: str) -> tuple[Page, ...]:
        """Return the best pages by BM25 (k₁ = 1.2, b = .75), at most SHOWN; ties in the order of the corpus."""
        return _search(self, query)


def plant(companies: int, seed: int) -> Corpus:
    """Plant a corpus.

    Args:
        companies: How many companies, each with a founder, a city, a former city and pages of each.
        seed: Root of every draw.
    """
    source = generator(seed, "corpus")
    families = [_name("person", source.random(), i) for i in range(max(companies // 4, 1))]
    pages: list[str] = []
    questions: list[Question] = []
    taken: set[str] = set()
    for number in range(companies):
        family = families[number % len(families)]
        person = f"{_name('person', source.random(), number + 1000)} {family}"
        company = _name("company", source.random(), number)
        city, former = (_name("city", source.random(), source.randrange(40)) for _ in range(2))
        if person in taken or city == former:
            continue
        taken.add(person)
        year = source.randint(1950, 2015)
        staff = source.randint(20, 900)
        pages.append(f"{person} founded {company} in {year}. {person} studied engineering and lives by the sea.")
        pages.append(f"{company} is headquartered in {city}. It makes tools for farms and employs {staff} people.")
        if source.random() < 0.6:
            pages.append(
                f"Until {year + 5}, the headquarters of {company} stood elsewhere: {company} was headquartered in"
                f" {former}. Old headquarters of {company}."
            )
        if source.random() < 0.4:
            pages.append(
                f"The {family} family: {family} cousins met in {former}. {family} and {family}, a family history of the"
                " founded and the found."
            )
        questions.append(Question(person=person, answer=city))
    return Corpus(pages=tuple(Page(text=text) for text in pages), questions=tuple(questions))


def _name(kind: str, luck: float, number: int) -> str:
    """Make a name; a few thousand are possible, so that two of a kind rarely share one by chance."""
    ends, picked = _END[kind], int(luck * 10**6)
    return (
        _START[(number * 7 + picked) % len(_START)]
        + _MIDDLE[(number // 3 + picked // 20) % len(_MIDDLE)]
        + "aeiou"[picked // 200 % 5]
        + _MIDDLE[picked // 1000 % len(_MIDDLE)]
        + ends[number % len(ends)]
    )


@lru_cache(maxsize=100_000)
def _search(corpus: Corpus, query: str) -> tuple[Page, ...]:
    words, lengths, shares = _index(corpus.pages)
    mean = sum(lengths) / len(lengths)
    scores = []
    for place, counted in enumerate(words):
        score = sum(
            shares.get(word, 0.0) * counted[word] * 2.2 / (counted[word] + 1.2 * (0.25 + 0.75 * lengths[place] / mean))
            for word in dict.fromkeys(_WORD.findall(query.lower()))
            if word in counted
        )
        if score > 0:
            scores.append((-score, place))
    return tuple(corpus.pages[place] for _, place in sorted(scores)[:SHOWN])


@lru_cache(maxsize=8)
def _index(pages: tuple[Page, ...]) -> tuple[list[Counter[str]], list[int], dict[str, float]]:
    words = [Counter(_WORD.findall(page.text.lower())) for page in pages]
    frequency = Counter(word for counted in words for word in counted)
    shares = {word: math.log(1 + (len(pages) - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}
    return words, [sum(counted.values()) for counted in words], shares
