"""The one error that users see: a sentence that says what is wrong and what to do."""


class SpecVizError(Exception):
    """Bad input or a missing resource; its text is one sentence, fit for the page and the shell alike."""
