"""Products, convolutions, differences, and numerical functions along axes."""


def vectors(d):
    # Infinities of complex numbers become NaN in other places, as sums are made in another order.
    kinds, special = d.pick([("biufc", 0), ("biuf", 0.15)])
    a = d.array(kinds, min_ndim=1, max_ndim=1, special=special)
    b = (
        d.array(kinds, min_ndim=1, max_ndim=1, special=special)
        if d.chance(0.7)
        else d.array("if", (3,), special=2 * special)
    )
    d.ulp = 64
    same = d.array(kinds, d.host[a].shape, special=special)
    mode = d.pick(["'full'", "'same'", "'valid'"])
    return d.pick(
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


def matrices(d):
    n, k, m = d.pick([(3, 4, 2), (16, 17, 5), (1, 3, 1), (0, 3, 2), (2, 0, 3), (33, 31, 34), (5, 5, 5)])
    d.ulp = 64
    kinds, special = d.pick([("biufc", 0), ("biuf", 0.1)])
    a = d.array(kinds, (n, k), special=special)
    b = d.array(kinds, (k, m), special=special, **({"dtype": d.host[a].dtype.str} if d.chance(0.6) else {}))
    square = d.array("if", (4, 4), special=0)
    more = d.keywords(0.4, dtype=["'f8'", "'f4'"], casting=["'unsafe'", "'no'"])
    batch = d.array("if", (2, n, k), special=special)
    return d.pick(
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
            f"np.tensordot({a}, {a}, axes={d.pick(['2', '([0, 1], [0, 1])', '0'])})",
            f"np.linalg.matrix_power({square}, {d.integer(0, 4)})",
            f"np.linalg.multi_dot([{a}, {b}])",
            f"np.vecmat({a}[:, 0], {a})",
            f"np.matvec({a}, {a}[0])",
            f"np.kron({a}[:2, :2], {b}[:2, :2])",
            f"np.matmul({a}, {b}{more})",
            f"np.matmul({batch}, {b}, axes=[(-2, -1), (-2, -1), (-1, -2)])",
            f"np.cov({a}{d.keywords(0.3, ddof=['0'], rowvar=['False'], bias=['True'])})",
            f"np.corrcoef({square} + np.eye(4, like={square}))",
            f"np.trace({a}) + 0",
            f"np.linalg.matrix_norm({square})",
            f"np.cross({a}[:, :3], {a}[:, :3])",
        ]
    )


def norms(d):
    a = d.array("iufc", special=0.1)
    d.ulp = 64
    orders = ["2", "1", "inf", "-inf", "0", "3", "'fro'", "None", "-1"]
    axis = d.keywords(0.4, axis=lambda: d.axis(a, several=True), keepdims=["True"])
    return (
        f"np.linalg.{d.pick([f'norm({a}', f'norm({a}', f'vector_norm({a}'])}"
        f"{d.keywords(0.7, ord=orders)}{axis})"
    )


def differences(d):
    kinds, special = d.pick([("biufc", 0), ("i", 0), ("f", 0.15), ("f", 0.15)])
    a = d.array(kinds, min_ndim=0 if d.chance(0.1) else 1, special=special)
    d.ulp = 32
    axis = d.keywords(0.4, axis=lambda: d.axis(a, none=False))
    return d.pick(
        [
            f"np.diff({a}{d.keywords(0.3, n=['0', '1', '2', '3', '-1'])}{axis}"
            f"{d.keywords(0.2, prepend=lambda: d.number('i'), append=lambda: d.number('i'))})",
            f"np.ediff1d({a}{d.keywords(0.3, to_begin=lambda: d.number('i'), to_end=lambda: d.number('i'))})",
            f"np.gradient({a}{d.pick(['', ', 0.5', ', 2'])}{axis}{d.keywords(0.3, edge_order=['1', '2'])})",
            f"np.trapezoid({a}{d.keywords(0.4, dx=['0.5'])}{axis})",
        ]
    )


def along(d):
    a = d.array("iuf", special=0.1)
    d.ulp = 32
    x = d.pick(["[0, 1, 2.5, 4]", "[0, 1]", "[3]"])
    count = x.count(",") + 1
    y = d.array("if", (count,), special=0.2)
    c = d.array("if", (4,), special=0.1)
    return d.pick(
        [
            f"np.interp({a}, np.array({x}, like={a}), {y}"
            f"{d.keywords(0.3, left=['-1', 'nan'], right=['9'], period=['4'])})",
            f"np.polyval([1, 2, 3], {a})",
            f"np.polyval({c}, {a})",
            f"np.sinc({a})",
            f"np.packbits({d.array('b', dtype='?')})",
            f"np.unpackbits({d.array('u', dtype='u1', special=0)})",
            f"np.ptp({a}{d.keywords(axis=lambda: d.axis(a))})",
            f"np.gradient({c}, {c})",
            f"np.trapezoid({c}, {d.array('if', (4,), special=0.1)})",
            f"np.cross({d.array('if', (3,))}, {d.array('if', (4, 3), special=0.1)})",
            f"np.unravel_index({d.integer(0, 11)}, (3, 4))",
            f"np.ravel_multi_index((np.array([0, 1], like={c}), np.array([2, 3], like={c})), (3, 4))",
        ]
    )


CALLS = [vectors, vectors, matrices, matrices, norms, differences, along]
