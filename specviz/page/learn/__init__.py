"""The tab "Learn"."""
