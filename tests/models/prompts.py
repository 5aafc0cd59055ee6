"""Prompts for the default pair, eight for the everyday suite and fifty in all."""

SUBJECTS = [
    "a lighthouse",
    "the moon",
    "bees",
    "a lost key",
    "the number pi",
    "a river",
    "bread",
    "an old clock",
    "rain",
    "a violin",
]
FORMS = [
    "Tell me a short story about {}.",
    "Explain {} to a child.",
    "Write a list of five facts about {}.",
    "Write a Python function called draw that prints a picture of {}.",
    "Write a letter to a friend about {}.",
]
FIFTY = [form.format(subject) for form in FORMS for subject in SUBJECTS]
EIGHT = FIFTY[::7]
