"""The algorithm, in the order of its reading: coins, sampling, rules, drafters, step, recording, options, run, plain, branch."""
