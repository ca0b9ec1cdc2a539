"""How a document is laid out, read off its source: indentation, line ends, what stands after a colon and a comma."""

from checkpoint_git.core.jsontext import Node, end_of_string


class Style:
    """How a document is laid out: the unit of indentation, the line end, and what stands after a colon and a comma."""

    __slots__ = ("colon", "comma", "eol", "unit")

    def __init__(self, unit: str = "  ", eol: str = "\n", colon: str = ": ", comma: str = ", ") -> None:
        self.unit = unit
        self.eol = eol
        self.colon = colon
        self.comma = comma


def style_of(root: Node) -> Style:
    text = root.text
    newline = text.find("\n")
    style = Style(eol="\r\n" if newline > 0 and text[newline - 1] == "\r" else "\n")
    children = root.children
    if not children:
        return style
    first = children[0]
    gap = text[root.start + 1 : first.key_start]
    if first.key_start < first.start:
        colon = text[end_of_string(text, first.key_start) : first.start]
        style.colon = style.colon if "\n" in colon else colon
    if "\n" in gap:
        style.unit = gap[gap.rfind("\n") + 1 :]
    elif len(children) > 1:
        style.comma = text[first.end : children[1].key_start].lstrip()
    elif style.colon == ":":
        style.comma = ","
    return style


def lead_of(node: Node) -> str:
    """The white space that the node's line begins with."""
    text = node.text
    begin = text.rfind("\n", 0, node.key_start) + 1
    end = begin
    while text[end] in " \t":
        end += 1
    return text[begin:end]
