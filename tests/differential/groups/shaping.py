"""Views, reshapes, orders; joining, splitting, editing, padding."""

import math


def reshape(d):
    a = d.array()
    size = d.host[a].size
    shapes = [
        f"({size},)",
        "-1",
        f"(1, {size})",
        f"(-1, {max(1, math.gcd(size, 12))})",
        f"({size}, 1, 1)",
        "(2, -1)",
        "(3, 5)",
    ]
    order = d.keywords(0.3, order=["'C'", "'F'", "'A'"])
    shape = d.pick(shapes)
    return d.pick([f"np.reshape({a}, {shape}{order})", f"{a}.reshape({shape}{order})"])


def views(d):
    a = d.array()
    ndim = d.host[a].ndim
    axes = list(range(ndim))
    d.rng.shuffle(axes)
    return d.pick(
        [
            f"{a}.T",
            f"{a}.transpose({tuple(axes)})",
            f"np.transpose({a})",
            f"{a}.swapaxes({d.integer(-2, 1)}, {d.integer(-2, 1)})",
            f"np.moveaxis({a}, {d.integer(-2, 2)}, {d.integer(-2, 2)})",
            f"np.rollaxis({a}, {d.integer(-1, 2)})",
            f"np.squeeze({a}{d.keywords(axis=lambda: d.axis(a, several=True))})",
            f"np.expand_dims({a}, {d.pick(['0', '-1', '(0, 2)', '5', '(0, 0)'])})",
            f"np.atleast_1d({a})",
            f"np.atleast_2d({a})",
            f"np.atleast_3d({a})",
            f"np.broadcast_to({a}, (2,) + {a}.shape)",
            f"np.broadcast_to({a}, (3, 4))",
            f"np.broadcast_arrays({a}, {d.like(a)})",
            f"np.flip({a}{d.keywords(axis=lambda: d.axis(a, several=True))})",
            f"np.fliplr({a})",
            f"np.flipud({a})",
            f"np.rot90({a}, {d.integer(-1, 4)})",
            f"np.diagonal({a}, {d.integer(-2, 2)})",
            f"{a}.view('{d.pick('i1 i4 f4 i8 f8 c8')}')",
            f"np.matrix_transpose({a})",
            f"{a}.mT",
            f"np.diag({a}, {d.integer(-1, 1)})",
            f"np.permute_dims({a}, {tuple(axes)})",
        ]
    )


def strides(call):
    """The strides of axes that have several elements."""
    return (
        f"[step for step, length in zip({call}.strides, {call}.shape) if length > 1 and 0 not in {call}"
        ".shape]"
    )


def copies(d):
    a = d.array()
    order = f"'{d.pick('C F A K')}'"
    return d.pick(
        [
            f"{a}.ravel({order})",
            f"np.ravel({a}, {order})",
            f"{a}.flatten({order})",
            f"{a}.copy({order})",
            f"np.copy({a}, {order})",
            f"np.ascontiguousarray({a}, like={a})",
            f"np.asfortranarray({a}, like={a})",
            strides(f"{a}.copy({order})"),
            f"{a}.flatten({order})",
            f"np.array({a}, copy=True, like={a})",
            f"{a}.tobytes()",
            strides(f"({a} + {a})"),
            strides(f"np.empty_like({a})"),
            strides(f"{a}.astype('f8', {order})"),
            f"{a}.flags['C_CONTIGUOUS'], {a}.flags['F_CONTIGUOUS']",
        ]
    )


def joining(d):
    a = d.array(min_ndim=1)
    b = d.array("biufc", d.host[a].shape) if d.chance(0.8) else d.like(a)
    axis = d.axis(a)
    return d.pick(
        [
            f"np.concatenate(({a}, {b}), axis={axis})",
            f"np.stack(({a}, {b}), axis={d.axis(a, none=False)})",
            f"np.vstack(({a}, {b}))",
            f"np.hstack(({a}, {b}))",
            f"np.dstack(({a}, {b}))",
            f"np.column_stack(({a}, {b}))",
            f"np.append({a}, {b}, axis={axis})",
            f"np.block([[{a}, {b}]])",
            f"np.concatenate(({a}, {a}, {b}), axis={axis}"
            f"{d.keywords(0.2, dtype=['None'], casting=[repr('unsafe')])})",
            f"np.concatenate(({a}, {b}), axis=0, dtype='{d.pick('f4 f8 c8')}"
            f"'{d.keywords(casting=[repr('unsafe'), repr('same_kind')])})",
        ]
    )


def splitting(d):
    a = d.array(min_ndim=1)
    return d.pick(
        [
            f"np.split({a}, {d.pick(['2', '1', '3', '[1]', '[1, 2]', '[0, 9]'])}, "
            f"axis={d.axis(a, none=False)})",
            f"np.array_split({a}, {d.pick('1 2 3 5 0')}, axis={d.axis(a, none=False)})",
            f"np.hsplit({a}, [1])",
            f"np.vsplit({a}, [1])",
            f"np.dsplit({a}, [1])",
            f"np.unstack({a}{d.keywords(axis=lambda: d.axis(a, none=False))})",
        ]
    )


def editing(d):
    a = d.array(min_ndim=0 if d.chance(0.1) else 1)
    axis = d.axis(a)
    counts = [d.integer(0, 3) for _ in range(d.host[a].shape[0] if d.host[a].ndim else 1)]
    return d.pick(
        [
            f"np.tile({a}, {d.pick(['2', '(2, 1)', '(1, 2, 2)', '0'])})",
            f"np.repeat({a}, {d.pick('2 0 3')}, axis={axis})",
            f"np.roll({a}, {d.integer(-5, 5)}, axis={axis})",
            f"np.roll({a}, (1, 2), axis=(0, -1))",
            f"np.insert({a}, {d.pick(['0', '1', '-1', '[0, 1]', '[1, 1]', '99'])}, {d.number('i')}, "
            f"axis={axis})",
            f"np.delete({a}, {d.pick(['0', '-1', '[0, 1]', 'slice(None, None, 2)', '99', '[]'])}, "
            f"axis={axis})",
            f"np.resize({a}, {d.pick(['(3, 3)', '7', '(0,)', '(2, 2, 2)'])})",
            f"np.trim_zeros({a}, '{d.pick('f b fb')}')",
            f"np.tril({a}, {d.integer(-2, 2)})",
            f"np.triu({a}, {d.integer(-2, 2)})",
            f"np.diagflat({a}, {d.integer(-1, 1)})",
            f"np.trace({a}, {d.integer(-1, 1)}) + 0",
            f"np.repeat({a}, {counts}, axis=0)",
            f"np.fill_diagonal({a}, {d.number('i')}{d.keywords(0.3, wrap=['True'])})",
        ]
    )


MODES = "constant edge reflect symmetric wrap linear_ramp maximum minimum mean median empty"


def padding(d):
    a = (
        d.array("biuf", min_ndim=0 if d.chance(0.1) else 1, special=0.3)
        if d.chance(0.8)
        else d.array("c", special=0)
    )
    d.ulp = 16
    mode = d.pick(MODES)
    if mode in ("mean", "median", "linear_ramp") and d.host[a].dtype.kind in "iub":
        a = d.array("i", min_ndim=1, special=0)  # floats beyond integers are undefined
    ndim = d.host[a].ndim
    width = d.pick(
        [
            "0",
            "1",
            "2",
            "(1, 2)",
            "((3, 0),)",
            str([(d.integer(0, 3), d.integer(0, 3)) for _ in range(max(ndim, 1))]),
            "-1",
            "7",
        ]
    )
    more = ""
    if mode in ("reflect", "symmetric"):
        more = d.keywords(0.6, reflect_type=["'odd'", "'even'"])
    elif mode == "constant":
        more = d.keywords(0.6, constant_values=["3", "(1, 2)", "-1.5"])
    elif mode == "linear_ramp":
        more = d.keywords(0.6, end_values=["3", "(1, 2)", "-1.5"])
    elif mode in ("maximum", "minimum", "mean", "median"):
        more = d.keywords(0.6, stat_length=["1", "2", "(1, 3)", "99", "None"])
    call = f"np.pad({a}, {width}, mode='{mode}'{more})"
    return f"{call}.shape" if mode == "empty" else call


CALLS = [reshape, views, views, copies, joining, splitting, editing, editing, padding, padding]
