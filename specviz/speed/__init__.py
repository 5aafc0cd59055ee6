"""What speculation costs and buys on this machine: costs, sweeps, held-out acceptance, the bench."""
