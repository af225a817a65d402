"""Choices by masks and indices, and functions that are applied along an axis."""


def where(draw):
    a = draw.array()
    mask = draw.like(a, "b", dtype="?") if draw.chance(0.7) else draw.like(a)
    kind = draw.host[a].dtype.kind
    return f"np.where({mask}, {a}, {draw.like(a) if draw.chance(0.7) else draw.number(kind)})"


def select(draw):
    a = draw.array("biufc", min_ndim=1)
    shape = draw.host[a].shape
    masks = [draw.array("b", shape, dtype="?") for _ in range(2)]
    return draw.pick(
        [
            f"np.select([{', '.join(masks)}], [{a}, {draw.array('biuf', shape)}"
            f"]{draw.keywords(default=lambda: draw.number('i'))})",
            f"np.piecewise({a}, [{', '.join(masks)}], "
            f"[{draw.number('i')}, {draw.number('i')}, {draw.number('i')}])",
            f"np.choose({masks[0]}.astype('i4'), [{a}, {draw.array('biuf', shape)}"
            f"]{draw.keywords(0.3, mode=[repr('wrap'), repr('clip')])})",
            f"np.choose(np.array([0, 1, 1, 5], like={a}), [0, "
            f"1]{draw.keywords(0.5, mode=[repr('wrap'), repr('clip')])})",
        ]
    )


def lines(draw):
    a = draw.array("iuf", min_ndim=1, special=0)
    draw.ulp = 4096
    axis = draw.axis(a, none=False)
    return draw.pick(
        [
            f"np.apply_along_axis(np.{draw.pick('sum cumsum max sort')}, {axis}, {a}[:3, ..., :3])",
            f"np.apply_over_axes(np.sum, {a}, [0])",
            f"np.unwrap({a}{draw.keywords(axis=lambda: axis)})",
            f"np.ix_({a}[:2].ravel().astype('i8'))",
        ]
    )


CALLS = [where, where, select, lines]
