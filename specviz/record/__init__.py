"""What a run leaves behind: the trace, its figures, and the forms in which it is written and opened again."""
