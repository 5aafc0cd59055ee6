"""The tab "Speed"."""
