"""The tab "Exactness"."""
