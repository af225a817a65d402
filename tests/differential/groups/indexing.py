"""Elements by slices, integers, lists of them and masks: read, assigned, changed in place."""


def basic(d, length):
    return d.pick(
        [
            ":",
            "::-1",
            "::2",
            "1:",
            ":-1",
            "-3:",
            "5:2",
            "::-2",
            "2:1:-1",
            "...",
            "None",
            str(d.integer(-length - 1, length)),
            str(d.integer(-length, max(length - 1, 0))),
            "1:3",
            "-1:0:-1",
            "9:",
        ]
    )


def numbers(d, length, distinct=False):
    """A list of integers below a length; now and then one that is not."""
    if length == 0:
        return []
    if distinct:
        found = d.rng.sample(range(length), d.integer(0, min(length, 5)))
        return [each - length if d.chance(0.3) else each for each in found]
    found = [d.integer(-length, length - 1) for _ in range(d.integer(0, 6))]
    if d.chance(0.05):
        found.append(length)
    return found


def index(d, a, distinct=False):
    """Text of an index for an array."""
    shape = d.host[a].shape
    if d.chance(0.12):
        return (
            d.array("b", shape, dtype="?")
            if d.chance(0.7)
            else f"{a} > {d.number('i')}"
            if d.host[a].dtype.kind in "if"
            else "..."
        )
    parts, axis = [], 0
    advanced = d.chance(0.4)
    while axis < len(shape) and d.chance(0.85):
        if advanced and d.chance(0.5):
            if d.chance(0.2):
                parts.append(d.array("b", shape[axis : axis + 1], dtype="?"))
            elif distinct or d.chance(0.5):
                found = numbers(d, shape[axis], distinct)
                parts.append(f"np.array({found}, 'i8')" if d.chance(0.5) or not found else str(found))
                if distinct:
                    advanced = False
            else:
                found = numbers(d, shape[axis]) or [0]
                parts.append(f"np.array({found}, '{d.pick('i8 i4 i2')}', like={a})")
        else:
            parts.append(basic(d, shape[axis]))
        if parts[-1] not in ("...", "None"):
            axis += 1
        if d.chance(0.03):
            parts.append("None")
    if parts.count("...") > 1 and d.chance(0.9):
        parts = [part for part in parts if part != "..."]
    return ", ".join(parts) if parts else d.pick(["...", "()", "None", ":"])


def get(d):
    a = d.array(special=0.05)
    return f"{a}[{index(d, a)}]"


def assign(d):
    a = d.array(special=0.05)
    where = index(d, a, distinct=True)
    value = d.number("i") if d.chance(0.5) else value_for(d, a, where)
    return f"{a}[{where}] {d.pick(['=', '=', '=', '+=', '*='])} {value}"


def value_for(d, a, where):
    """An array of the shape of the elements, or one that is broadcast to it; now and then another."""
    import numpy as np

    try:
        shape = eval(f"{a}[{where}]", d.host | {"np": np}).shape
    except Exception:
        shape = ()
    kinds = {"c": "bifc", "f": "bifc", "i": "biu", "u": "biu", "b": "biufc"}[d.host[a].dtype.kind]
    if d.chance(0.3):
        shape = shape[1:]
    return d.array(kinds, shape, special=0)


def functions(d):
    a = d.array(min_ndim=1, special=0.05)
    shape = d.host[a].shape
    axis = d.integer(0, len(shape) - 1)
    some = numbers(d, shape[axis])
    mode = d.keywords(0.3, mode=["'wrap'", "'clip'", "'raise'"])
    flat = numbers(d, d.host[a].size, True)
    many = sorted({d.integer(0, max(shape[axis] - 1, 0)) for _ in range(3)})
    along = tuple(len(many) if i == axis else 1 for i in range(len(shape)))
    spread = f"np.array({many}, 'i8', like={a}).reshape({along})"
    mask = d.array("b", shape, dtype="?")
    values = d.array("b", min_ndim=1, max_ndim=1)
    copying = d.keywords(casting=["'unsafe'", "'same_kind'"], where=lambda: d.like(a, "b", dtype="?"))
    return d.pick(
        [
            f"np.take({a}, {some or [0]}, axis={axis}{mode})",
            f"{a}.take({some or [0]}{mode})",
            f"np.put({a}, {flat}, {d.number('i')}{mode})",
            f"np.put({a}, {flat or [0]}, [1, 2])",
            f"np.put({a}, {flat}, [])",
            f"np.compress({[d.chance(0.5) for _ in range(shape[axis])]}, {a}, axis={axis})",
            f"np.take_along_axis({a}, {spread}, axis={axis})",
            f"np.put_along_axis({a}, {spread}, 5, axis={axis})",
            f"np.extract({mask}, {a})",
            f"np.place({a}, {mask}, {values})",
            f"np.putmask({a}, {mask}, {d.pick([values, d.number('i')])})",
            f"np.copyto({a}, {d.like(a, d.host[a].dtype.kind, special=0)}{copying})",
            f"np.copyto({a}, {d.number('f')})",
            f"{a}.flat[{d.integer(0, 3)}]",
            f"np.nonzero({a})",
            f"np.argwhere({a})",
            f"np.flatnonzero({a})",
            f"{a}.item({d.integer(-2, 2)})",
        ]
    )


CALLS = [get, get, get, assign, assign, assign, functions, functions]
