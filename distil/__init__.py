"""Distil a small draft model for one target: sample.py, prepare.py, train.py, export.py, curves.py."""
