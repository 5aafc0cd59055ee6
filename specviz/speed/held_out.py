"""The 200 held-out prompts, of six kinds, by which a draft is judged."""

from __future__ import annotations

import random
from dataclasses import dataclass

SEED = 7


# kind -> how many prompts, the forms, the subjects that fill them
KINDS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "story": (
        34,
        (
            "Tell a bedtime story in which {} learns something new.",
            "Make up a funny tale with {} as the hero.",
            "Invent a short adventure for {}.",
        ),
        (
            "a hedgehog with a torn umbrella",
            "the smallest pirate on the ship",
            "a shy postman",
            "a snail who wants to win a race",
            "twin sisters on a farm",
            "a grandmother and her kite",
            "a penguin in a hotel",
            "a boy with a blue balloon",
            "the last steam engine",
            "a tailor with magic thread",
            "a lonely snowman",
            "an owl that can't sleep",
        ),
    ),
    "question": (
        34,
        (
            "How does {} work?",
            "Can you tell my class how {} came about?",
            "What makes {} so useful?",
        ),
        (
            "a refrigerator",
            "a rainbow",
            "the alphabet",
            "a thermometer",
            "soap",
            "an elevator",
            "the postal service",
            "a compass",
            "a microscope",
            "concrete",
            "a pair of glasses",
            "the zipper",
        ),
    ),
    "list": (
        33,
        (
            "List seven things that I need for {}.",
            "Name five mistakes to avoid in {}, one a line.",
            "Give me ten short ideas for {}.",
        ),
        (
            "a weekend of camping",
            "a school play",
            "moving to a new flat",
            "a surprise party",
            "painting a bedroom",
            "a job interview",
            "a picnic in the park",
            "a science fair",
            "keeping a hamster",
            "a rainy afternoon indoors",
            "repairing an old chair",
        ),
    ),
    "letter": (
        33,
        (
            "Write a polite letter to {}.",
            "Draft a thank-you note for {}.",
            "Help me write an email to ask {} for a meeting next week.",
        ),
        (
            "my landlord",
            "a retired teacher",
            "the town council",
            "our football coach",
            "the head of a museum",
            "a neighbour who fed my cat",
            "the customer service of a shoe shop",
            "a pen friend in Norway",
            "my dentist",
            "a volunteer at the animal shelter",
            "the manager of a bookshop",
        ),
    ),
    "code": (
        33,
        (
            "Write a Python function that {}.",
            "Show me in JavaScript how one {}.",
            "Write a small program that {}, with comments.",
        ),
        (
            "counts the vowels in a string",
            "converts Celsius to Fahrenheit",
            "finds the largest number in an array",
            "checks whether a word is a palindrome",
            "rolls two dice",
            "removes duplicates and keeps the order",
            "computes the area of a circle",
            "reads a file line by line",
            "merges two dictionaries",
            "prints a multiplication table",
            "tells whether a year is a leap year",
        ),
    ),
    "continuation": (
        33,
        (
            "Continue this text: {}",
            "Here is how my essay starts. Please go on. {}",
            "Finish the paragraph: {}",
        ),
        (
            "The ferry left the harbour before dawn, and nobody on deck said a word.",
            "Most people think that a desert is empty, but",
            "When the lights went out in the theatre,",
            "There are two ways to cut an onion. The first",
            "My grandfather kept every newspaper he ever bought, because",
            "The market opens at six, and by seven",
            "In spring the hills behind our house turn yellow, and",
            "A good question is worth more than a good answer, since",
            "Nobody had used the telephone box for years, until",
            "To fix a flat tyre you first",
            "The bus was late again, so we",
        ),
    ),
}


@dataclass(frozen=True)
class Prompt:
    """One held-out prompt and its kind."""

    kind: str
    text: str


def held_out_prompts() -> list[Prompt]:
    """Return the 200 prompts: of each kind a fixed random choice among its forms and subjects, each at most once."""
    chosen = []
    for kind, (count, forms, subjects) in KINDS.items():
        every = [form.format(subject) for form in forms for subject in subjects]
        chosen += [Prompt(kind, text) for text in random.Random(SEED).sample(every, count)]
    return chosen
