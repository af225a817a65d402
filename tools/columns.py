"""Breaks lines of comments and paragraphs that are longer than 110 columns, as clang-format and ruff do not.

Usage: columns.py FILE...   C sources and headers (block comments), Markdown (paragraphs and items of lists).
Code, tables and comments after code are left as they are.
"""

import re
import sys
import textwrap
from pathlib import Path

COLUMNS = 110
# One column less: where a comment ends in the last column, clang-format reflows comments after code as well.
FILLED = COLUMNS - 1


def too_long(text):
    return any(len(line) > COLUMNS for line in text.split("\n"))


def wrapped(words, first, rest):
    """The words in lines of at most FILLED columns. The first line begins with `first`, the others with
    `rest`.
    """
    return textwrap.fill(
        words,
        FILLED,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def comment(match):
    """A block comment with its lines broken, from a match of (indent) and comment. Paragraphs stay
    paragraphs; a comment with a list or a drawing is returned as it is.
    """
    text, indent = match[0], match[1]
    if not too_long(text):
        return text
    inner = re.sub(r"\n[ \t]*\*? ?", "\n", text.strip()[2:-2].strip())
    paragraphs = inner.split("\n\n")
    if any(re.search(r"^[ \t]{2,}|^- ", part, re.M) for part in paragraphs):
        return text
    filled = [wrapped(" ".join(part.split()), indent + " * ", indent + " * ") for part in paragraphs]
    # "*/" stays in the line of the last word: \0 joins them until the line is broken.
    if len(paragraphs) == 1:
        words = " ".join(paragraphs[0].split()) + "\0*/"
        filled = [wrapped(words, indent + " * ", indent + " * ").replace("\0", " ")]
    body = f"\n{indent} *\n".join(filled)
    return indent + "/*" + body[len(indent) + 2 :] + (f"\n{indent} */" if len(paragraphs) > 1 else "")


def c_source(text):
    """C with the lines of its block comments broken."""
    return re.sub(r"(?m)^([ \t]*)/\*(?:(?!\*/).)*\*/(?=[ \t]*$)", comment, text, flags=re.S)


def paragraph(text):
    """A block of Markdown between empty lines, with its lines broken: headings, then a paragraph or the items
    of a list. Tables, HTML, fences and directives are returned as they are.
    """
    heading = re.match(r"(?:#+ [^\n]*(?:\n|\Z))*", text)[0]
    text = text[len(heading) :]
    if not too_long(text) or re.match(r"\s*(\||<|```|\{)", text):
        return heading + text
    items = []
    for line in text.split("\n"):
        if not items or re.match(r"\s*([-*]|\d+\.) ", line):
            items.append([])
        items[-1].append(line)
    return heading + "\n".join(map(item, items))


def item(lines):
    """The lines of one item of a list, or of a paragraph, broken again. Code in backticks stays on one line:
    \\0 replaces its blanks meanwhile.
    """
    lead = re.match(r"\s*(?:(?:[-*]|\d+\.) )?", lines[0])[0]
    words = " ".join(" ".join(lines).split())[len(lead.strip()) :].strip()
    words = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), words)
    return wrapped(words, lead, " " * len(lead)).replace("\0", " ")


def markdown(text):
    """Markdown with the lines of its paragraphs broken, except in fenced blocks."""
    parts = re.split(r"(^```.*?^```[^\n]*$)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 2):
        parts[i] = "\n\n".join(paragraph(part) for part in parts[i].split("\n\n"))
    return "".join(parts)


def main(names):
    for name in map(Path, names):
        text = name.read_text()
        new = markdown(text) if name.suffix == ".md" else c_source(text)
        if new != text:
            name.write_text(new)


if __name__ == "__main__":
    main(sys.argv[1:])
