"""Choices by masks and numbers, and what acts along lines."""


def where(d):
    a = d.array()
    mask = d.like(a, "b", dtype="?") if d.chance(0.7) else d.like(a)
    kind = d.host[a].dtype.kind
    return f"np.where({mask}, {a}, {d.like(a) if d.chance(0.7) else d.number(kind)})"


def select(d):
    a = d.array("biufc", min_ndim=1)
    shape = d.host[a].shape
    masks = [d.array("b", shape, dtype="?") for _ in range(2)]
    return d.pick(
        [
            f"np.select([{', '.join(masks)}], [{a}, {d.array('biuf', shape)}"
            f"]{d.keywords(default=lambda: d.number('i'))})",
            f"np.piecewise({a}, [{', '.join(masks)}], [{d.number('i')}, {d.number('i')}, {d.number('i')}])",
            f"np.choose({masks[0]}.astype('i4'), [{a}, {d.array('biuf', shape)}"
            f"]{d.keywords(0.3, mode=[repr('wrap'), repr('clip')])})",
            f"np.choose(np.array([0, 1, 1, 5], like={a}), [0, "
            f"1]{d.keywords(0.5, mode=[repr('wrap'), repr('clip')])})",
        ]
    )


def lines(d):
    a = d.array("iuf", min_ndim=1, special=0)
    d.ulp = 4096
    axis = d.axis(a, none=False)
    return d.pick(
        [
            f"np.apply_along_axis(np.{d.pick('sum cumsum max sort')}, {axis}, {a}[:3, ..., :3])",
            f"np.apply_over_axes(np.sum, {a}, [0])",
            f"np.unwrap({a}{d.keywords(axis=lambda: axis)})",
            f"np.ix_({a}[:2].ravel().astype('i8'))",
        ]
    )


CALLS = [where, where, select, lines]
