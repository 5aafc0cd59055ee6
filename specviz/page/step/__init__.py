"""The tab "Step through"."""
