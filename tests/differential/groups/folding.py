"""Reductions, scans, and statistics along axes."""

PLAIN = "sum prod max min amax amin any all ptp mean argmax argmin count_nonzero"
ROUNDED = ("prod", "mean", "std", "var")


def common(draw, a, **more):
    """Text of some of axis=, keepdims= and the keyword arguments `more`, given as to draw.keywords()."""
    return draw.keywords(0.35, axis=lambda: draw.axis(a, several=True), keepdims=["True", "False"], **more)


def as_method(a, name, call):
    """The text "np.name(a, ...)" as "a.name(...)"."""
    return call.replace(f"np.{name}({a}, ", f"{a}.{name}(").replace(f"np.{name}({a})", f"{a}.{name}()")


def reduced(draw, name):
    """The name of an array for a reduction. Products have few factors: of many, their order decides about
    overflow.
    """
    few = {"shape": (33,), "dtype": draw.pick("f4 f8 i4 u1 ?")} if name == "prod" else {}
    if draw.chance(0.8):
        return draw.array("iuf" if name == "ptp" else "biuf", special=0.12, **few)
    return draw.array("c", special=0, shape=few.get("shape"))


def reduction_keywords(draw, name, kind):
    """Choices, for draw.keywords(), of the keyword arguments that only this reduction has; kind: the
    operand's.
    """
    if name in ("sum", "prod"):
        dtypes = ["'f8'", "'f4'", "'c8'"] if kind in "fc" else ["'f8'", "'i8'", "'i4'"]
        return dict(dtype=dtypes, initial=lambda: draw.number("i"))
    if name in ("max", "min"):
        return dict(initial=lambda: draw.number("i"))
    return dict(dtype=["'f8'", "'f4'"]) if name == "mean" else {}


def reduction(draw):
    name = draw.pick(PLAIN)
    a = reduced(draw, name)
    is_rounded = name in (*ROUNDED, "sum") or draw.host[a].dtype == "f2"
    draw.ulp = 32 if is_rounded else 1  # 1, because either of two zeros may be the greatest
    if name in ("argmax", "argmin"):
        return f"np.{name}({a}{draw.keywords(axis=lambda: draw.axis(a), keepdims=['True'])})"
    keywords = common(draw, a, **reduction_keywords(draw, name, draw.host[a].dtype.kind))
    if draw.chance(0.15) and name not in ("ptp", "count_nonzero"):
        keywords += f", where={draw.like(a, 'b', dtype='?')}"
    call = f"np.{name}({a}{keywords})"
    is_method = name not in ("count_nonzero", "amax", "amin", "ptp") and draw.chance(0.4)
    return as_method(a, name, call) if is_method else call


def reduction_into(draw):
    """A reduction with out=."""
    name = draw.pick("sum prod max min mean any all")
    # No mean of integers: NumPy stores their sum in out= before it divides it.
    a = draw.array("f" if name == "mean" else "biuf", min_ndim=1, special=0)
    draw.ulp = 32
    axis = draw.integer(0, draw.host[a].ndim - 1)
    shape = draw.host[a].shape[:axis] + draw.host[a].shape[axis + 1 :]
    # No floats into integers, which may not be able to hold them.
    into = draw.array("f" if draw.host[a].dtype.kind == "f" or name == "mean" else "if", shape, special=0)
    return f"np.{name}({a}, axis={axis}, out={into})"


def spread(draw):
    a = draw.array("biufc", special=0.05)
    draw.ulp = 64
    name = draw.pick("std var nanstd nanvar")
    return f"np.{name}({a}{common(draw, a, ddof=['0', '1', '2'])})"


def past_nan(draw):
    name = draw.pick("nansum nanprod nanmax nanmin nanmean nanargmax nanargmin nancumsum nancumprod")
    few = {"shape": (17,), "dtype": draw.pick("f4 f8 i4")} if "prod" in name else {}
    a = draw.array("iuf", special=0.3, **few)
    draw.ulp = 4096 if draw.host[a].dtype == "f2" else 32  # NumPy rounds each partial sum of float16
    if "arg" in name or "cum" in name:
        return f"np.{name}({a}{draw.keywords(axis=lambda: draw.axis(a))})"
    return f"np.{name}({a}{common(draw, a)})"


def scan(draw):
    name = draw.pick("cumsum cumprod cumulative_sum cumulative_prod")
    few = {"shape": (17,), "dtype": draw.pick("f4 f8 i4")} if "prod" in name else {}
    a = draw.array("biuf", special=0.12, **few) if draw.chance(0.8) else draw.array("c", (17,), special=0)
    draw.ulp = 64
    if name.startswith("cumulative"):
        if draw.host[a].ndim != 1:
            return f"np.{name}({a}, axis={draw.axis(a, none=False)}{draw.keywords(include_initial=['True'])})"
        return f"np.{name}({a}{draw.keywords(include_initial=['True'])})"
    text = draw.keywords(
        axis=lambda: draw.axis(a),
        dtype=["'f8'", "'f4'"] if draw.host[a].dtype.kind == "f" else ["'f8'", "'i4'"],
    )
    return f"{a}.{name}({text[2:]})" if draw.chance(0.4) else f"np.{name}({a}{text})"


def quantile(draw):
    a = draw.array("biuf", special=0.1)
    draw.ulp = 16
    name = draw.pick("quantile percentile median nanmedian nanquantile nanpercentile")
    if "median" in name:
        return f"np.{name}({a}{draw.keywords(axis=lambda: draw.axis(a), keepdims=['True'])})"
    q = draw.pick(["0.5", "[0.1, 0.9]", "0", "1", "[0.25]", "1.5", "[]"])
    if name.endswith("percentile"):
        q = draw.pick(["50", "[10, 90]", "0", "100", "[25]", "101"])
    methods = [
        repr(m)
        for m in (
            "linear",
            "lower",
            "higher",
            "midpoint",
            "nearest",
            "hazen",
            "weibull",
            "median_unbiased",
            "inverted_cdf",
            "averaged_inverted_cdf",
        )
    ]
    return f"np.{name}({a}, {q}{draw.keywords(axis=lambda: draw.axis(a), keepdims=['True'], method=methods)})"


def weighted_quantile(draw):
    a = draw.array("iuf", special=0.05)
    draw.ulp = 16
    w = (
        draw.array("iuf", draw.host[a].shape, special=0)
        if draw.chance(0.8)
        else draw.like(a, "iuf", special=0)
    )
    axis = draw.keywords(axis=lambda: draw.axis(a))
    return (
        f"np.quantile({a}, {draw.pick(['0.5', '[0.1, 0.9]'])}, method='inverted_cdf', weights=abs({w}) + "
        f"1{axis})"
    )


def average(draw):
    a = draw.array("iuf", special=0.05) if draw.chance(0.8) else draw.array("c", special=0)
    draw.ulp = 32
    axis = draw.keywords(axis=lambda: draw.axis(a))
    if draw.chance(0.5):
        shape = draw.host[a].shape
        w = (
            draw.array("iuf", shape, special=0)
            if draw.chance(0.7)
            else draw.array("iuf", shape[-1:], special=0)
        )
        return f"np.average({a}, weights=abs({w}) + 1{axis}{draw.keywords(returned=['True'])})"
    return f"np.average({a}{axis})"


CALLS = [
    reduction,
    reduction,
    reduction,
    reduction_into,
    spread,
    past_nan,
    scan,
    scan,
    quantile,
    weighted_quantile,
    average,
]
