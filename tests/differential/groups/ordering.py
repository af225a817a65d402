"""Sorting, searching, sets, counting."""


def sorting(d):
    a = d.array(special=0.3)
    d.ulp = 1  # zeros of both signs are equal, and lie in any order where NumPy does not sort stably
    axis = d.keywords(0.5, axis=lambda: d.axis(a))
    stable = ", kind='stable'"
    length = d.host[a].shape[-1] if d.host[a].ndim else 0
    kth = d.integer(-length, max(length - 1, 0))
    return d.pick(
        [
            f"np.sort({a}{axis})",
            f"np.argsort({a}{axis}{stable})",
            f"{a}.sort({axis[2:] if 'None' not in axis else ''})",
            f"{a}.argsort({(axis + stable)[2:]})",
            f"np.partition({a}, {kth})[..., {kth}]",
            f"np.sort({a}{axis}{stable})",
            f"np.lexsort(({a}, {d.array('iuf', d.host[a].shape)}))",
            f"np.sort_complex({a})",
            f"np.sort({a}, order=None)",
            f"np.sort(np.argpartition({a}, {kth})[..., :0])",
        ]
    )


def searching(d):
    a = d.array("biuf", min_ndim=1, max_ndim=1, special=0.1)
    b = d.array("biuf", special=0.1)
    side = d.keywords(0.5, side=["'left'", "'right'"])
    bins = d.pick(
        [
            "[0, 1, 2.5, 4]",
            "[4, 1, 0]",
            "[1]",
            "[]",
            "[1, 1, 2]",
            "[nan, 1]",
            "[1, nan]",
            "[2, 1, 3]",
            f"np.sort({a})",
        ]
    )
    return d.pick(
        [
            f"np.searchsorted(np.sort({a}), {b}{side})",
            f"np.sort({a}).searchsorted({b}{side})",
            f"np.searchsorted({a}, {b}, sorter=np.argsort({a}, kind='stable'))",
            f"np.digitize({b}, {bins}{d.keywords(right=['True'])})",
            f"np.searchsorted(np.sort({a}), {d.number()}{side})",
        ]
    )


def sets(d):
    # Of several NaNs of complex numbers, and of integers that are one as floats, NumPy's results depend on
    # how it sorts.
    a = d.array("f", special=0.3) if d.chance(0.4) else d.array("biufc", special=0)
    d.ulp = 1
    b = d.array("f", special=0.3) if d.chance(0.3) else d.array("biuf", special=0)
    more = d.keywords(0.3, return_index=["True"], return_inverse=["True"], return_counts=["True"])
    plain = d.array("biufc", special=0)  # NaNs, which differ from each other, have any order among them
    return d.pick(
        [
            f"np.unique({a}{more})",
            f"np.unique({plain}, axis={d.axis(plain)})",
            f"np.isin({a}, {b}{d.keywords(0.3, invert=['True'], assume_unique=['False'])})",
            f"np.intersect1d({a}, {b}{d.keywords(0.2, return_indices=['True'])})",
            f"np.union1d({a}, {b})",
            f"np.setdiff1d({a}, {b})",
            f"np.setxor1d({a}, {b})",
            f"tuple(np.unique_counts({a}))",
            f"tuple(np.unique_inverse({plain}))",
            f"np.unique({a}, equal_nan=False)",
            f"tuple(np.unique_all({plain}))",
        ]
    )


def counting(d):
    a = d.array("biuf", special=0.05)
    small = d.array("iu", min_ndim=1, max_ndim=1, special=0)
    d.ulp = 16
    bins = d.pick(["5", "1", "[0, 1, 2]", "[-3, 0.5, 4]", "0", "[2, 1]", "'auto'", "'sqrt'"])
    limits = d.keywords(0.4, range=["(0, 5)", "(-2, 2)", "(1, 1)", "(3, 0)"], density=["True"])
    weights = f", weights={(w := d.array('if', d.host[a].shape, special=0))}" if d.chance(0.3) else ""
    if weights and "density" in limits and d.host[w].dtype == "f2":
        weights = ""  # NumPy's sums of half are far off, and so are quotients by them
    x, y = (d.array("if", (17,), special=0) for _ in range(2))
    return d.pick(
        [
            f"np.histogram({a}, {bins}{limits}{weights})",
            f"np.histogram({a}, {bins}{limits})",
            f"np.bincount(abs({small}){d.keywords(minlength=['0', '5', '30'])})",
            f"np.bincount(abs({small}), weights={d.array('if', d.host[small].shape, special=0)})",
            f"np.histogram2d({x}, {y}, {d.pick(['3', '[2, 3]', '[[0, 1, 2], [0, 4]]', '[0, 1, 4]'])}"
            f"{d.keywords(0.3, density=['True'], range=['[[0, 4], [-1, 1]]'])})",
            f"np.histogram_bin_edges({a}, {bins}{d.keywords(0.3, range=['(0, 5)'])})",
            f"np.histogramdd(np.stack(({x}, {y}), 1), {d.pick(['3', '[2, 3]'])})",
        ]
    )


CALLS = [sorting, sorting, searching, sets, sets, counting]
