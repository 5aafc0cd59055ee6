"""The tab "Hardware"."""
