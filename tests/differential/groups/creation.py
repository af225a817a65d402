"""New arrays with the type or shape of another, by like= and by the functions zeros_like, ones_like, ..."""

DTYPES = ["'f4'", "'i4'", "'f8'", "'?'", "'c8'", "None", "'u1'", "int", "float", "bool"]


def after(draw):
    a = draw.array()
    shape = draw.pick(["3", "(2, 3)", "()", "(0,)", "(2, 0)", "-1", "(2, -3)", "[4]", "2.5"])
    more = draw.keywords(0.5, dtype=DTYPES) + draw.keywords(0.2, order=["'C'", "'F'"])
    like = more + draw.keywords(0.2, shape=["(2, 3)", "5"])
    return draw.pick(
        [
            f"np.zeros({shape}{more}, like={a})",
            f"np.ones({shape}{more}, like={a})",
            f"np.full({shape}, {draw.number('i')}{more}, like={a})",
            f"np.empty({shape}{more}, like={a}).shape",
            f"np.zeros_like({a}{like})",
            f"np.ones_like({a}{like})",
            f"np.full_like({a}, {draw.number('i')}{like})",
            f"np.empty_like({a}{like}).dtype",
            f"np.zeros_like({a}{like}).flags['F_CONTIGUOUS']",
        ]
    )


def ranges(draw):
    a = draw.array("f", (3,), special=0)
    more = draw.keywords(0.5, dtype=["'f4'", "'i4'", "'f8'", "None", "int", "'c8'"])
    draw.ulp = 16
    one, two = (draw.pick("0 1 -2 2.5 10 0.0 -0.5 7") for _ in range(2))
    count = draw.pick("0 1 2 5 50 -1")
    extra = draw.keywords(0.3, endpoint=["False"])
    grid = draw.keywords(0.4, sparse=["True"], indexing=["'ij'", "'xy'"], copy=["True", "False"])
    return draw.pick(
        [
            f"np.arange({one}{more}, like={a})",
            f"np.arange({one}, {two}{more}, like={a})",
            f"np.arange({one}, {two}, {draw.pick('1 2 -1 0.5 -0.25 3 0')}{more}, like={a})",
            f"np.linspace({one}, {a}, {count}{extra})",
            f"np.linspace({a}, {two}, {count}{extra}"
            f"{draw.keywords(0.3, retstep=['True'], axis=['0', '-1'])})",
            f"np.logspace({a} / 4, 2, {count}{extra})",
            f"np.geomspace(abs({a}) + 1, 100, {count}{extra})",
            f"np.eye({draw.pick('0 1 3 4')}, {draw.pick('None 2 5')}, "
            f"k={draw.integer(-2, 2)}{more}, like={a})",
            f"np.identity({draw.pick('0 1 3')}{more}, like={a})",
            f"np.tri({draw.pick('0 1 3')}, k={draw.integer(-1, 1)}{more}, like={a})",
            f"np.vander({a}{draw.keywords(0.5, N=['0', '2', '4'], increasing=['True'])})",
            f"np.meshgrid({a}, {draw.array('f', max_ndim=1)}{grid})",
            f"np.array([[1, 2.5], [3, 4]]{more}, like={a})",
            f"np.asarray([True, 2]{more}, like={a})",
            f"np.asarray({a}{more}, like={a})",
        ]
    )


def facts(draw):
    a, b = draw.array(), draw.array()
    return draw.pick(
        [
            f"np.result_type({a}, {b})",
            f"np.result_type({a}, {draw.pick(['1', '1.5', '1j', 'True', repr('f4')])})",
            f"np.shape({a})",
            f"np.size({a})",
            f"np.can_cast({a}.dtype, '{draw.pick('i4 f4 f8')}')",
            f"np.isfortran({a})",
            f"np.iscomplexobj({a})",
            f"np.ndim({a})",
            f"{a}.nbytes",
            f"np.shares_memory({a}, {b})",
            f"np.common_type({a}, {b})",
            f"{a}.itemsize",
            f"np.size({a}, {draw.axis(a)})",
        ]
    )


CALLS = [after, ranges, ranges, facts]
