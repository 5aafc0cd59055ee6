"""What the server holds for its visitors: loaded pairs, finished runs, a GPU that is lent."""
