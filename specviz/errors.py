"""The one error that users see: a sentence that says what is wrong and what to do."""


class SpecVizError(Exception):
    """Bad input or a missing resource; its text is one sentence, fit for the page and the shell alike."""


class OutOfMemory(SpecVizError):
    """A device has no memory left: what holds the models may let them go, and the next run starts afresh."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text without its full stop, or its type where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:300].rstrip(".") if lines else type(error).__name__
