"""Writes what was measured into docs/scaling.md, and what the model computes from it for more GPUs: the part
of the page between two marks. `scaling.py --page FILE`; all other text is written by hand.
"""

import json
import re
import sys
import textwrap

from common import HERE

from . import model
from .heat import HOST_SIDE, host_of

PAGE = HERE.parent / "docs" / "scaling.md"
PICTURES = HERE.parent / "docs" / "pictures" / "scaling"
RECORDED = HERE / "scaling_parts" / "recorded.json"  # the run that the page shows: a test holds it to that
BEGIN, END = "<!-- written by benchmarks/scaling.py --page -->\n", "<!-- end -->\n"
NO_RUN = (
    "No run on several GPUs is recorded here yet: `make scaling` measures, on the machine that it runs on.\n"
)
FROM_MODEL = """By the model above, from the time on one GPU and the links of this run, as if every GPU had
such a link to every other one.
"""
COMPUTED = (4, 8, 64)  # GPUs


def markdown(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def heat_rows(parts):
    """Rows of the computed table: the heat equation by each way whose link was measured."""
    found = parts.get("heat", {}).get("data", {}).get("found", [])
    if not found:
        return
    _, _, tasks, ones = found[0]
    largest = max(count for _, count, *_ in found)
    hosts = {how: host_of(tasks, times) for how, count, tasks, times in found if count == largest}
    links = {
        "threads, copies": parts.get("peers", {}).get("data", {}).get("links", {}).get("copy"),
        "processes, NCCL": link_of(parts, "collectives", largest, "send/recv"),
        "processes, MPI": link_of(parts, "messages", largest, "send/recv"),
    }
    for (side, weak, *_), times in zip(tasks, ones, strict=True):
        one = times["step"][1]
        for how, link in links.items():
            if link and how in hosts and side != HOST_SIDE:
                threads = how.startswith("threads")
                host = {count: model.host(hosts[how], largest, count, threads) for count in COMPUTED}
                spent = [model.heat(one, link, count, side, weak, host[count]) for count in COMPUTED]
                yield row(f"heat, {side} x {side}, {how}", weak, one, spent, "us", 1e3)


def product_rows(parts):
    """Those of the product of matrices."""
    found = parts.get("products", {}).get("data", {}).get("found", [])
    if not found:
        return
    link = link_of(parts, "collectives", max(count for _, count, *_ in found), "all-gather")
    _, _, side, times, _ = found[0]
    if link:
        spent = [model.product(times["product"], link, count, side) for count in COMPUTED]
        yield row(f"product, {side} x {side}", False, times["product"], spent, "ms", 1e6)


def link_of(parts, part, count, operation):
    return parts.get(part, {}).get("data", {}).get(str(count), {}).get("links", {}).get(operation)


def row(name, weak, one, spent, unit, scale):
    cells = [name, "weak" if weak else "strong", f"{one / scale:.4g} {unit}"]
    for count, each in zip(COMPUTED, spent, strict=True):
        cells.append(f"{each / scale:.4g} {unit}, {model.efficiency(one, each, count, weak):.2f}")
    return cells


def section(result, shown_pictures=()):
    """The text between the marks. shown_pictures: names of files in PICTURES."""
    if result is None:
        return NO_RUN
    parts, machine = result["parts"], result["machine"]
    shown = ("Measured on", "driver", "Python", "pycuda", "numpy", "mpi4py", "nvidia-nccl-cu13", "dask")
    shown += ("distributed", "cupy-cuda13x")
    line = ", ".join(f"{name} {machine[name]}" for name in shown if name in machine) + "."
    text = ["\n".join(textwrap.wrap(line, 105)) + "\n"]
    if shown_pictures:
        lines = "".join(f"![{name}](pictures/scaling/{name}.svg)\n" for name in sorted(shown_pictures))
        text.append(f"```{{container}} figures\n{lines}```\n")
    for found in parts.values():
        for table in found["tables"]:
            text.append(f"### {table['title']}\n\n{markdown(table['header'], table['rows'])}")
    notes = [f"- {name}: {note}\n" for name, found in parts.items() for note in found["notes"]]
    if notes:
        text.append("### What was left out\n\n" + "".join(notes))
    rows = [*heat_rows(parts), *product_rows(parts)]
    if rows:
        header = ["computed, not measured", "scaling", "1 GPU, measured"]
        header += [f"{count} GPUs: time, efficiency" for count in COMPUTED]
        text.append(f"### Computed for more GPUs\n\n{FROM_MODEL}\n{markdown(header, rows)}")
    return "\n".join(text)


def written(page, result, shown_pictures=()):
    """The text of the page with this section."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    new, count = pattern.subn(lambda _: BEGIN + "\n" + section(result, shown_pictures) + "\n" + END, page)
    assert count == 1, "the marks of the page"
    return new


def write(path, draw):
    """Writes the page, and its pictures by draw(result, folder), from the JSON of a run on GPUs."""
    result = json.loads(path.read_text())
    if result["machine"]["CPU device"]:
        sys.exit(f"{path} was measured on the CPU device, whose times say nothing about scaling")
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw(result, PICTURES)
    RECORDED.write_text(json.dumps(result) + "\n")
    PAGE.write_text(written(PAGE.read_text(), result, pictures()))


def pictures():
    """The names of the pictures that there are."""
    return [each.stem for each in PICTURES.glob("*.svg")]
