"""Sorting, searching, sets, counting."""


def sorting(draw):
    a = draw.array(special=0.3)
    draw.ulp = 1  # zeros of both signs are equal: an unstable sort may put them in any order
    axis = draw.keywords(0.5, axis=lambda: draw.axis(a))
    stable = ", kind='stable'"
    length = draw.host[a].shape[-1] if draw.host[a].ndim else 0
    kth = draw.integer(-length, max(length - 1, 0))
    return draw.pick(
        [
            f"np.sort({a}{axis})",
            f"np.argsort({a}{axis}{stable})",
            f"{a}.sort({axis[2:] if 'None' not in axis else ''})",
            f"{a}.argsort({(axis + stable)[2:]})",
            f"np.partition({a}, {kth})[..., {kth}]",
            f"np.sort({a}{axis}{stable})",
            f"np.lexsort(({a}, {draw.array('iuf', draw.host[a].shape)}))",
            f"np.sort_complex({a})",
            f"np.sort({a}, order=None)",
            f"np.sort(np.argpartition({a}, {kth})[..., :0])",
        ]
    )


def searching(draw):
    a = draw.array("biuf", min_ndim=1, max_ndim=1, special=0.1)
    b = draw.array("biuf", special=0.1)
    side = draw.keywords(0.5, side=["'left'", "'right'"])
    bins = draw.pick(
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
    return draw.pick(
        [
            f"np.searchsorted(np.sort({a}), {b}{side})",
            f"np.sort({a}).searchsorted({b}{side})",
            f"np.searchsorted({a}, {b}, sorter=np.argsort({a}, kind='stable'))",
            f"np.digitize({b}, {bins}{draw.keywords(right=['True'])})",
            f"np.searchsorted(np.sort({a}), {draw.number()}{side})",
        ]
    )


def sets(draw):
    # No complex NaNs, and no integers that are equal as floats: NumPy's results for them depend on how it
    # sorts.
    a = draw.array("f", special=0.3) if draw.chance(0.4) else draw.array("biufc", special=0)
    draw.ulp = 1
    b = draw.array("f", special=0.3) if draw.chance(0.3) else draw.array("biuf", special=0)
    more = draw.keywords(0.3, return_index=["True"], return_inverse=["True"], return_counts=["True"])
    plain = draw.array("biufc", special=0)  # without NaNs, whose order among each other is not defined
    return draw.pick(
        [
            f"np.unique({a}{more})",
            f"np.unique({plain}, axis={draw.axis(plain)})",
            f"np.isin({a}, {b}{draw.keywords(0.3, invert=['True'], assume_unique=['False'])})",
            f"np.intersect1d({a}, {b}{draw.keywords(0.2, return_indices=['True'])})",
            f"np.union1d({a}, {b})",
            f"np.setdiff1d({a}, {b})",
            f"np.setxor1d({a}, {b})",
            f"tuple(np.unique_counts({a}))",
            f"tuple(np.unique_inverse({plain}))",
            f"np.unique({a}, equal_nan=False)",
            f"tuple(np.unique_all({plain}))",
        ]
    )


def counting(draw):
    a = draw.array("biuf", special=0.05)
    small = draw.array("iu", min_ndim=1, max_ndim=1, special=0)
    draw.ulp = 16
    bins = draw.pick(["5", "1", "[0, 1, 2]", "[-3, 0.5, 4]", "0", "[2, 1]", "'auto'", "'sqrt'"])
    limits = draw.keywords(0.4, range=["(0, 5)", "(-2, 2)", "(1, 1)", "(3, 0)"], density=["True"])
    weights = (
        f", weights={(w := draw.array('if', draw.host[a].shape, special=0))}" if draw.chance(0.3) else ""
    )
    if weights and "density" in limits and draw.host[w].dtype == "f2":
        weights = ""  # NumPy's sums of float16, by which densities are divided, are far off
    x, y = (draw.array("if", (17,), special=0) for _ in range(2))
    return draw.pick(
        [
            f"np.histogram({a}, {bins}{limits}{weights})",
            f"np.histogram({a}, {bins}{limits})",
            f"np.bincount(abs({small}){draw.keywords(minlength=['0', '5', '30'])})",
            f"np.bincount(abs({small}), weights={draw.array('if', draw.host[small].shape, special=0)})",
            f"np.histogram2d({x}, {y}, {draw.pick(['3', '[2, 3]', '[[0, 1, 2], [0, 4]]', '[0, 1, 4]'])}"
            f"{draw.keywords(0.3, density=['True'], range=['[[0, 4], [-1, 1]]'])})",
            f"np.histogram_bin_edges({a}, {bins}{draw.keywords(0.3, range=['(0, 5)'])})",
            f"np.histogramdd(np.stack(({x}, {y}), 1), {draw.pick(['3', '[2, 3]'])})",
        ]
    )


CALLS = [sorting, sorting, searching, sets, sets, counting]
