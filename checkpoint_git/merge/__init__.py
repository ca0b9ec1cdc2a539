"""The three-way merge: base, ours and theirs in, one merged document out. Pure: no protocol, no git, no file.

The rules, tried in this order at every place of a document. Absent is a value of its own, different from null; numbers
are compared as they are written.

1. Both sides agree: that value.
2. Only one side changed the place: its value, and be it that the place is gone.
3. Both changed it: what the schema says there (the `x-merge` keyword; strategy.py has the closed list). Where it says
   nothing, objects merge member by member, lists of records that a natural key tells apart as rows, lists of scalars
   as sets.
4. Nothing of that fits: a conflict. Never a guess: newest-wins on a summary would be wrong more often than right.

No rule gives a side a meaning, because git does not: in a rebase "ours" is the upstream, in a revert "theirs" is the
parent of the reverted commit. Swapping the sides swaps the sides of the conflicts and changes nothing else.

How it is done:

- file.py: `merge_file` is the one way to merge a file's three versions. It parses them (core.jsontext: a tree whose
  nodes know their source text), merges, enforces what the schema requires of the whole document, and writes the result.
- places.py: the recursion. Its result is a tree of pieces (core.jsonwrite): a Node kept from one of the versions, a
  Fresh value, a Built container of results, or a Choice, which is a conflict. What nobody changed stays ours' own Node,
  so that it is written with the bytes that it has.
- items.py: what makes two items of a list the same item, and the order of a merged list.
- strategy.py: what a schema says of a place, and the strategies for single values.
- steps.py, superseded.py: two rules about whole records. lint.py refuses a schema that the merge would misread.
- markers.py: conflicts as text, around only the lines that differ, so that either side's choice is valid JSON.
- conflicts.py: conflicts as values for whoever decides them, and what a text in the work tree has decided already.
- verdict.py, explain*.py, records.py: what a merge that was made, by whatever means, did to each entry. repair.py
  repairs the damage.

Modules up to markers.py are on git's hot path: one process for each file that both sides changed. They import nothing
of the standard library at run time but what the interpreter has loaded anyway.
"""
