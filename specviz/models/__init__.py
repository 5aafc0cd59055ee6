"""What gives logits: the catalogue of pairs, weights and where they come from, loaded models and their cursors."""
