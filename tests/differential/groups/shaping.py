"""Views, reshapes, orders; joining, splitting, editing, padding."""

import math


def reshape(draw):
    a = draw.array()
    size = draw.host[a].size
    shapes = [
        f"({size},)",
        "-1",
        f"(1, {size})",
        f"(-1, {max(1, math.gcd(size, 12))})",
        f"({size}, 1, 1)",
        "(2, -1)",
        "(3, 5)",
    ]
    order = draw.keywords(0.3, order=["'C'", "'F'", "'A'"])
    shape = draw.pick(shapes)
    return draw.pick([f"np.reshape({a}, {shape}{order})", f"{a}.reshape({shape}{order})"])


def views(draw):
    a = draw.array()
    ndim = draw.host[a].ndim
    axes = list(range(ndim))
    draw.rng.shuffle(axes)
    return draw.pick(
        [
            f"{a}.T",
            f"{a}.transpose({tuple(axes)})",
            f"np.transpose({a})",
            f"{a}.swapaxes({draw.integer(-2, 1)}, {draw.integer(-2, 1)})",
            f"np.moveaxis({a}, {draw.integer(-2, 2)}, {draw.integer(-2, 2)})",
            f"np.rollaxis({a}, {draw.integer(-1, 2)})",
            f"np.squeeze({a}{draw.keywords(axis=lambda: draw.axis(a, several=True))})",
            f"np.expand_dims({a}, {draw.pick(['0', '-1', '(0, 2)', '5', '(0, 0)'])})",
            f"np.atleast_1d({a})",
            f"np.atleast_2d({a})",
            f"np.atleast_3d({a})",
            f"np.broadcast_to({a}, (2,) + {a}.shape)",
            f"np.broadcast_to({a}, (3, 4))",
            f"np.broadcast_arrays({a}, {draw.like(a)})",
            f"np.flip({a}{draw.keywords(axis=lambda: draw.axis(a, several=True))})",
            f"np.fliplr({a})",
            f"np.flipud({a})",
            f"np.rot90({a}, {draw.integer(-1, 4)})",
            f"np.diagonal({a}, {draw.integer(-2, 2)})",
            f"{a}.view('{draw.pick('i1 i4 f4 i8 f8 c8')}')",
            f"np.matrix_transpose({a})",
            f"{a}.mT",
            f"np.diag({a}, {draw.integer(-1, 1)})",
            f"np.permute_dims({a}, {tuple(axes)})",
        ]
    )


def strides(call):
    """Text of the strides of a call's result along axes with several elements."""
    return (
        f"[step for step, length in zip({call}.strides, {call}.shape) if length > 1 and 0 not in {call}"
        ".shape]"
    )


def copies(draw):
    a = draw.array()
    order = f"'{draw.pick('C F A K')}'"
    return draw.pick(
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


def joining(draw):
    a = draw.array(min_ndim=1)
    b = draw.array("biufc", draw.host[a].shape) if draw.chance(0.8) else draw.like(a)
    axis = draw.axis(a)
    return draw.pick(
        [
            f"np.concatenate(({a}, {b}), axis={axis})",
            f"np.stack(({a}, {b}), axis={draw.axis(a, none=False)})",
            f"np.vstack(({a}, {b}))",
            f"np.hstack(({a}, {b}))",
            f"np.dstack(({a}, {b}))",
            f"np.column_stack(({a}, {b}))",
            f"np.append({a}, {b}, axis={axis})",
            f"np.block([[{a}, {b}]])",
            f"np.concatenate(({a}, {a}, {b}), axis={axis}"
            f"{draw.keywords(0.2, dtype=['None'], casting=[repr('unsafe')])})",
            f"np.concatenate(({a}, {b}), axis=0, dtype='{draw.pick('f4 f8 c8')}"
            f"'{draw.keywords(casting=[repr('unsafe'), repr('same_kind')])})",
        ]
    )


def splitting(draw):
    a = draw.array(min_ndim=1)
    return draw.pick(
        [
            f"np.split({a}, {draw.pick(['2', '1', '3', '[1]', '[1, 2]', '[0, 9]'])}, "
            f"axis={draw.axis(a, none=False)})",
            f"np.array_split({a}, {draw.pick('1 2 3 5 0')}, axis={draw.axis(a, none=False)})",
            f"np.hsplit({a}, [1])",
            f"np.vsplit({a}, [1])",
            f"np.dsplit({a}, [1])",
            f"np.unstack({a}{draw.keywords(axis=lambda: draw.axis(a, none=False))})",
        ]
    )


def editing(draw):
    a = draw.array(min_ndim=0 if draw.chance(0.1) else 1)
    axis = draw.axis(a)
    counts = [draw.integer(0, 3) for _ in range(draw.host[a].shape[0] if draw.host[a].ndim else 1)]
    return draw.pick(
        [
            f"np.tile({a}, {draw.pick(['2', '(2, 1)', '(1, 2, 2)', '0'])})",
            f"np.repeat({a}, {draw.pick('2 0 3')}, axis={axis})",
            f"np.roll({a}, {draw.integer(-5, 5)}, axis={axis})",
            f"np.roll({a}, (1, 2), axis=(0, -1))",
            f"np.insert({a}, {draw.pick(['0', '1', '-1', '[0, 1]', '[1, 1]', '99'])}, {draw.number('i')}, "
            f"axis={axis})",
            f"np.delete({a}, {draw.pick(['0', '-1', '[0, 1]', 'slice(None, None, 2)', '99', '[]'])}, "
            f"axis={axis})",
            f"np.resize({a}, {draw.pick(['(3, 3)', '7', '(0,)', '(2, 2, 2)'])})",
            f"np.trim_zeros({a}, '{draw.pick('f b fb')}')",
            f"np.tril({a}, {draw.integer(-2, 2)})",
            f"np.triu({a}, {draw.integer(-2, 2)})",
            f"np.diagflat({a}, {draw.integer(-1, 1)})",
            f"np.trace({a}, {draw.integer(-1, 1)}) + 0",
            f"np.repeat({a}, {counts}, axis=0)",
            f"np.fill_diagonal({a}, {draw.number('i')}{draw.keywords(0.3, wrap=['True'])})",
        ]
    )


MODES = "constant edge reflect symmetric wrap linear_ramp maximum minimum mean median empty"


def padding(draw):
    a = (
        draw.array("biuf", min_ndim=0 if draw.chance(0.1) else 1, special=0.3)
        if draw.chance(0.8)
        else draw.array("c", special=0)
    )
    draw.ulp = 16
    mode = draw.pick(MODES)
    if mode in ("mean", "median", "linear_ramp") and draw.host[a].dtype.kind in "iub":
        a = draw.array("i", min_ndim=1, special=0)  # padding may be floats that u1 or bool cannot hold
    ndim = draw.host[a].ndim
    width = draw.pick(
        [
            "0",
            "1",
            "2",
            "(1, 2)",
            "((3, 0),)",
            str([(draw.integer(0, 3), draw.integer(0, 3)) for _ in range(max(ndim, 1))]),
            "-1",
            "7",
        ]
    )
    more = ""
    if mode in ("reflect", "symmetric"):
        more = draw.keywords(0.6, reflect_type=["'odd'", "'even'"])
    elif mode == "constant":
        more = draw.keywords(0.6, constant_values=["3", "(1, 2)", "-1.5"])
    elif mode == "linear_ramp":
        more = draw.keywords(0.6, end_values=["3", "(1, 2)", "-1.5"])
    elif mode in ("maximum", "minimum", "mean", "median"):
        more = draw.keywords(0.6, stat_length=["1", "2", "(1, 3)", "99", "None"])
    call = f"np.pad({a}, {width}, mode='{mode}'{more})"
    return f"{call}.shape" if mode == "empty" else call


CALLS = [reshape, views, views, copies, joining, splitting, editing, editing, padding, padding]
