"""Products, convolutions, differences, and numerical functions along axes."""


def vectors(draw):
    # No infinite complex numbers: which of their sums are NaN depends on the order of summation.
    kinds, special = draw.pick([("biufc", 0), ("biuf", 0.15)])
    a = draw.array(kinds, min_ndim=1, max_ndim=1, special=special)
    b = (
        draw.array(kinds, min_ndim=1, max_ndim=1, special=special)
        if draw.chance(0.7)
        else draw.array("if", (3,), special=2 * special)
    )
    draw.ulp = 64
    same = draw.array(kinds, draw.host[a].shape, special=special)
    mode = draw.pick(["'full'", "'same'", "'valid'"])
    return draw.pick(
        [
            f"np.convolve({a}, {b}, {mode})",
            f"np.correlate({a}, {b}, {mode})",
            f"np.convolve({a}, {b})",
            f"np.correlate({a}, {b}, {mode})",
            f"np.dot({a}, {same})",
            f"np.vdot({a}, {same})",
            f"np.inner({a}, {same})",
            f"np.outer({a}, {b})",
            f"{a} @ {same}",
            f"np.vecdot({a}, {same})",
            f"np.kron({a}, {b})",
            f"np.linalg.outer({a}, {b})",
            f"np.einsum('i,i', {a}, {same})",
            f"np.einsum('i,j->ij', {a}, {b})",
        ]
    )


def matrices(draw):
    n, k, m = draw.pick([(3, 4, 2), (16, 17, 5), (1, 3, 1), (0, 3, 2), (2, 0, 3), (33, 31, 34), (5, 5, 5)])
    draw.ulp = 64
    kinds, special = draw.pick([("biufc", 0), ("biuf", 0.1)])
    a = draw.array(kinds, (n, k), special=special)
    b = draw.array(
        kinds, (k, m), special=special, **({"dtype": draw.host[a].dtype.str} if draw.chance(0.6) else {})
    )
    square = draw.array("if", (4, 4), special=0)
    more = draw.keywords(0.4, dtype=["'f8'", "'f4'"], casting=["'unsafe'", "'no'"])
    batch = draw.array("if", (2, n, k), special=special)
    return draw.pick(
        [
            f"{a} @ {b}",
            f"np.matmul({a}, {b})",
            f"np.dot({a}, {b})",
            f"np.inner({a}, {b}.T)",
            f"np.tensordot({a}, {b}, axes=1)",
            f"np.einsum('ij,jk->ik', {a}, {b})",
            f"np.einsum('ij,jk->ki', {a}, {b})",
            f"np.einsum('ij->j', {a})",
            f"np.einsum('ij->ji', {a})",
            f"np.einsum('ii', {square})",
            f"np.einsum('ii->i', {square})",
            f"{batch} @ {b}",
            f"np.einsum('bij,jk->bik', {batch}, {b})",
            f"np.tensordot({a}, {a}, axes={draw.pick(['2', '([0, 1], [0, 1])', '0'])})",
            f"np.linalg.matrix_power({square}, {draw.integer(0, 4)})",
            f"np.linalg.multi_dot([{a}, {b}])",
            f"np.vecmat({a}[:, 0], {a})",
            f"np.matvec({a}, {a}[0])",
            f"np.kron({a}[:2, :2], {b}[:2, :2])",
            f"np.matmul({a}, {b}{more})",
            f"np.matmul({batch}, {b}, axes=[(-2, -1), (-2, -1), (-1, -2)])",
            f"np.cov({a}{draw.keywords(0.3, ddof=['0'], rowvar=['False'], bias=['True'])})",
            f"np.corrcoef({square} + np.eye(4, like={square}))",
            f"np.trace({a}) + 0",
            f"np.linalg.matrix_norm({square})",
            f"np.cross({a}[:, :3], {a}[:, :3])",
        ]
    )


def norms(draw):
    a = draw.array("iufc", special=0.1)
    draw.ulp = 64
    orders = ["2", "1", "inf", "-inf", "0", "3", "'fro'", "None", "-1"]
    axis = draw.keywords(0.4, axis=lambda: draw.axis(a, several=True), keepdims=["True"])
    return (
        f"np.linalg.{draw.pick([f'norm({a}', f'norm({a}', f'vector_norm({a}'])}"
        f"{draw.keywords(0.7, ord=orders)}{axis})"
    )


def differences(draw):
    kinds, special = draw.pick([("biufc", 0), ("i", 0), ("f", 0.15), ("f", 0.15)])
    a = draw.array(kinds, min_ndim=0 if draw.chance(0.1) else 1, special=special)
    draw.ulp = 32
    axis = draw.keywords(0.4, axis=lambda: draw.axis(a, none=False))
    return draw.pick(
        [
            f"np.diff({a}{draw.keywords(0.3, n=['0', '1', '2', '3', '-1'])}{axis}"
            f"{draw.keywords(0.2, prepend=lambda: draw.number('i'), append=lambda: draw.number('i'))})",
            f"np.ediff1d({a}"
            f"{draw.keywords(0.3, to_begin=lambda: draw.number('i'), to_end=lambda: draw.number('i'))})",
            f"np.gradient({a}{draw.pick(['', ', 0.5', ', 2'])}{axis}"
            f"{draw.keywords(0.3, edge_order=['1', '2'])})",
            f"np.trapezoid({a}{draw.keywords(0.4, dx=['0.5'])}{axis})",
        ]
    )


def along(draw):
    a = draw.array("iuf", special=0.1)
    draw.ulp = 32
    x = draw.pick(["[0, 1, 2.5, 4]", "[0, 1]", "[3]"])
    count = x.count(",") + 1
    y = draw.array("if", (count,), special=0.2)
    c = draw.array("if", (4,), special=0.1)
    return draw.pick(
        [
            f"np.interp({a}, np.array({x}, like={a}), {y}"
            f"{draw.keywords(0.3, left=['-1', 'nan'], right=['9'], period=['4'])})",
            f"np.polyval([1, 2, 3], {a})",
            f"np.polyval({c}, {a})",
            f"np.sinc({a})",
            f"np.packbits({draw.array('b', dtype='?')})",
            f"np.unpackbits({draw.array('u', dtype='u1', special=0)})",
            f"np.ptp({a}{draw.keywords(axis=lambda: draw.axis(a))})",
            f"np.gradient({c}, {c})",
            f"np.trapezoid({c}, {draw.array('if', (4,), special=0.1)})",
            f"np.cross({draw.array('if', (3,))}, {draw.array('if', (4, 3), special=0.1)})",
            f"np.unravel_index({draw.integer(0, 11)}, (3, 4))",
            f"np.ravel_multi_index((np.array([0, 1], like={c}), np.array([2, 3], like={c})), (3, 4))",
        ]
    )


CALLS = [vectors, vectors, matrices, matrices, norms, differences, along]
