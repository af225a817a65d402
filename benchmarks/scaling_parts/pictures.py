"""Pictures of a run, in the style of plots.py: rates against sizes, efficiency against numbers of GPUs."""

from plots import INK, save, style

from . import collectives

COLORS = ["#1f8fe0", "#2b9348", "#e8590c", "#9c36b5", "#a0662b", "#d6336c"]


def axes(plt, title, x, y):
    figure, axis = plt.subplots(figsize=(4.2, 3.1), layout="constrained")
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.3)
    return figure, axis


def finish(plt, figure, axis, path):
    axis.legend(fontsize=7, frameon=False, labelcolor=INK)
    save(plt, figure, path)


def of_collectives(plt, folder, data):
    """The rate of a link in each operation on most GPUs, pycuda.nccl's and C's."""
    count = max(map(int, data))
    figure, axis = axes(plt, f"NCCL on {count} GPUs", "bytes", "bus GB/s, more is better")
    for name, color in zip(collectives.OPERATIONS, COLORS, strict=False):
        mine = [(size, times) for each, size, times in data[str(count)]["found"] if each == name]
        factor = collectives.bus_factor(name, count)
        for way, line, label in (("pycuda", "o-", name), ("C", ":", None)):
            rates = [size / times[way][1] * factor for size, times in mine]
            axis.loglog([size for size, _ in mine], rates, line, color=color, markersize=4, label=label)
    axis.plot([], [], ":", color=INK, label="from C")
    finish(plt, figure, axis, folder / "nccl.svg")


def of_heat(plt, folder, table):
    """Efficiency of each way against the number of GPUs; dotted: the model's."""
    title = table["title"]
    figure, axis = axes(plt, title, "GPUs", "efficiency, more is better")
    columns = {name: table["header"].index(name) for name in ("how", "GPUs", "plate", "efficiency")}
    expected = table["header"].index("model's efficiency")
    lines = {}
    for row in table["rows"]:
        if row[columns["how"]] != "one device":
            side = row[columns["plate"]].split()[-1]
            lines.setdefault(f"{row[columns['how']]}, {side}", []).append(row)
    for (name, rows), color in zip(lines.items(), COLORS, strict=False):
        gpus = [row[columns["GPUs"]] for row in rows]
        axis.plot(gpus, [float(row[columns["efficiency"]]) for row in rows], "o-", color=color, label=name)
        if all(row[expected] != "-" for row in rows):
            axis.plot(gpus, [float(row[expected]) for row in rows], ":", color=color)
    axis.plot([], [], ":", color=INK, label="the model")
    axis.set_ylim(0, 1.1)
    name = "weak" if "weak" in title else "strong"
    finish(plt, figure, axis, folder / f"heat-{name}.svg")


def draw(result, folder):
    """Draws what there is of a run into the folder. Returns how many pictures; 0 without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return 0
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style(plt)
    parts, count = result["parts"], 0
    if data := parts.get("collectives", {}).get("data"):
        of_collectives(plt, folder, data)
        count += 1
    for table in parts.get("heat", {}).get("tables", []):
        if "scaling" in table["title"] and len(table["rows"]) > 1 and not result["machine"]["CPU device"]:
            of_heat(plt, folder, table)
            count += 1
    return count
