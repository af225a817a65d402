"""Elements by slices, integers, lists of them and masks: read, assigned, changed in place."""


def basic(draw, length):
    """Text of an index without arrays, for an axis of that length."""
    return draw.pick(
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
            str(draw.integer(-length - 1, length)),
            str(draw.integer(-length, max(length - 1, 0))),
            "1:3",
            "-1:0:-1",
            "9:",
        ]
    )


def numbers(draw, length, distinct=False):
    """A list of indices for an axis of this length, sometimes with one that is out of bounds. distinct: each
    element is selected at most once, and none is out of bounds.
    """
    if length == 0:
        return []
    if distinct:
        found = draw.rng.sample(range(length), draw.integer(0, min(length, 5)))
        return [each - length if draw.chance(0.3) else each for each in found]
    found = [draw.integer(-length, length - 1) for _ in range(draw.integer(0, 6))]
    if draw.chance(0.05):
        found.append(length)
    return found


def index(draw, a, distinct=False):
    """Text of an index for the array named a. distinct: it selects each element at most once, so that the
    order of assignments does not matter.
    """
    shape = draw.host[a].shape
    if draw.chance(0.12):  # a mask of the array's shape
        if draw.chance(0.7):
            return draw.array("b", shape, dtype="?")
        return f"{a} > {draw.number('i')}" if draw.host[a].dtype.kind in "if" else "..."
    parts, axis = [], 0
    advanced = draw.chance(0.4)
    while axis < len(shape) and draw.chance(0.85):
        if advanced and draw.chance(0.5):
            if draw.chance(0.2):
                parts.append(draw.array("b", shape[axis : axis + 1], dtype="?"))
            elif distinct or draw.chance(0.5):
                found = numbers(draw, shape[axis], distinct)
                parts.append(f"np.array({found}, 'i8')" if draw.chance(0.5) or not found else str(found))
                if distinct:
                    advanced = False
            else:
                found = numbers(draw, shape[axis]) or [0]
                parts.append(f"np.array({found}, '{draw.pick('i8 i4 i2')}', like={a})")
        else:
            parts.append(basic(draw, shape[axis]))
        if parts[-1] not in ("...", "None"):
            axis += 1
        if draw.chance(0.03):
            parts.append("None")
    if parts.count("...") > 1 and draw.chance(0.9):
        parts = [part for part in parts if part != "..."]
    return ", ".join(parts) if parts else draw.pick(["...", "()", "None", ":"])


def get(draw):
    a = draw.array(special=0.05)
    return f"{a}[{index(draw, a)}]"


def assign(draw):
    a = draw.array(special=0.05)
    where = index(draw, a, distinct=True)
    value = draw.number("i") if draw.chance(0.5) else value_for(draw, a, where)
    return f"{a}[{where}] {draw.pick(['=', '=', '=', '+=', '*='])} {value}"


def value_for(draw, a, where):
    """The name of an array to assign to a[where]: it has the shape of the selected elements, or that without
    the first axis.
    """
    import numpy as np

    try:
        shape = eval(f"{a}[{where}]", draw.host | {"np": np}).shape
    except Exception:
        shape = ()
    kinds = {"c": "bifc", "f": "bifc", "i": "biu", "u": "biu", "b": "biufc"}[draw.host[a].dtype.kind]
    if draw.chance(0.3):
        shape = shape[1:]
    return draw.array(kinds, shape, special=0)


def functions(draw):
    a = draw.array(min_ndim=1, special=0.05)
    shape = draw.host[a].shape
    axis = draw.integer(0, len(shape) - 1)
    some = numbers(draw, shape[axis])
    mode = draw.keywords(0.3, mode=["'wrap'", "'clip'", "'raise'"])
    flat = numbers(draw, draw.host[a].size, True)
    many = sorted({draw.integer(0, max(shape[axis] - 1, 0)) for _ in range(3)})
    along = tuple(len(many) if i == axis else 1 for i in range(len(shape)))
    spread = f"np.array({many}, 'i8', like={a}).reshape({along})"
    mask = draw.array("b", shape, dtype="?")
    values = draw.array("b", min_ndim=1, max_ndim=1)
    copying = draw.keywords(casting=["'unsafe'", "'same_kind'"], where=lambda: draw.like(a, "b", dtype="?"))
    return draw.pick(
        [
            f"np.take({a}, {some or [0]}, axis={axis}{mode})",
            f"{a}.take({some or [0]}{mode})",
            f"np.put({a}, {flat}, {draw.number('i')}{mode})",
            f"np.put({a}, {flat or [0]}, [1, 2])",
            f"np.put({a}, {flat}, [])",
            f"np.compress({[draw.chance(0.5) for _ in range(shape[axis])]}, {a}, axis={axis})",
            f"np.take_along_axis({a}, {spread}, axis={axis})",
            f"np.put_along_axis({a}, {spread}, 5, axis={axis})",
            f"np.extract({mask}, {a})",
            f"np.place({a}, {mask}, {values})",
            f"np.putmask({a}, {mask}, {draw.pick([values, draw.number('i')])})",
            f"np.copyto({a}, {draw.like(a, draw.host[a].dtype.kind, special=0)}{copying})",
            f"np.copyto({a}, {draw.number('f')})",
            f"{a}.flat[{draw.integer(0, 3)}]",
            f"np.nonzero({a})",
            f"np.argwhere({a})",
            f"np.flatnonzero({a})",
            f"{a}.item({draw.integer(-2, 2)})",
        ]
    )


CALLS = [get, get, get, assign, assign, assign, functions, functions]
