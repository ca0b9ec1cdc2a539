"""The three-way merge: base, ours and theirs in, one merged document out. Pure; knows no protocol."""
