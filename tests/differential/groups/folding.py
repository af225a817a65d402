"""Reductions, scans, and statistics along axes."""

PLAIN = "sum prod max min amax amin any all ptp mean argmax argmin count_nonzero"
ROUNDED = ("prod", "mean", "std", "var")


def common(d, a, **more):
    return d.keywords(0.35, axis=lambda: d.axis(a, several=True), keepdims=["True", "False"], **more)


def reduction(d):
    name = d.pick(PLAIN)
    few = (
        {"shape": (33,), "dtype": d.pick("f4 f8 i4 u1 ?")} if name == "prod" else {}
    )  # longer ones overflow, or not, by the order of factors
    a = (
        d.array("biuf" if name != "ptp" else "iuf", special=0.12, **few)
        if d.chance(0.8)
        else d.array("c", special=0, shape=few.get("shape"))
    )
    d.ulp = 1  # of zeros of both signs either is the greatest
    if name in ROUNDED or d.host[a].dtype == "f2" or name == "sum":
        d.ulp = 32
    if name in ("argmax", "argmin"):
        return f"np.{name}({a}{d.keywords(axis=lambda: d.axis(a), keepdims=['True'])})"
    more = {}
    if name in ("sum", "prod"):
        more = dict(
            dtype=["'f8'", "'f4'", "'c8'"] if d.host[a].dtype.kind in "fc" else ["'f8'", "'i8'", "'i4'"],
            initial=lambda: d.number("i"),
        )
    if name in ("max", "min"):
        more = dict(initial=lambda: d.number("i"))
    if name == "mean":
        more = dict(dtype=["'f8'", "'f4'"])
    where = (
        f", where={d.like(a, 'b', dtype='?')}"
        if d.chance(0.15) and name not in ("ptp", "count_nonzero")
        else ""
    )
    call = f"np.{name}({a}{common(d, a, **more)}{where})"
    if name not in ("count_nonzero", "amax", "amin") and d.chance(0.4):
        call = f"{a}.{name}({call.partition(', ')[2] or ')'}" if name != "ptp" else call
    return call


def reduction_into(d):
    """With out=."""
    name = d.pick("sum prod max min mean any all")
    # NumPy has the sum of integers in out= before it divides that.
    a = d.array("f" if name == "mean" else "biuf", min_ndim=1, special=0)
    d.ulp = 32
    axis = d.integer(0, d.host[a].ndim - 1)
    shape = d.host[a].shape[:axis] + d.host[a].shape[axis + 1 :]
    # Floats in out= of integers may be beyond those, as what C has no rule.
    into = d.array("f" if d.host[a].dtype.kind == "f" or name == "mean" else "if", shape, special=0)
    return f"np.{name}({a}, axis={axis}, out={into})"


def spread(d):
    a = d.array("biufc", special=0.05)
    d.ulp = 64
    name = d.pick("std var nanstd nanvar")
    return f"np.{name}({a}{common(d, a, ddof=['0', '1', '2'])})"


def past_nan(d):
    name = d.pick("nansum nanprod nanmax nanmin nanmean nanargmax nanargmin nancumsum nancumprod")
    few = {"shape": (17,), "dtype": d.pick("f4 f8 i4")} if "prod" in name else {}
    a = d.array("iuf", special=0.3, **few)
    d.ulp = 4096 if d.host[a].dtype == "f2" else 32  # NumPy rounds each of the sums so far
    if "arg" in name or "cum" in name:
        return f"np.{name}({a}{d.keywords(axis=lambda: d.axis(a))})"
    return f"np.{name}({a}{common(d, a)})"


def scan(d):
    name = d.pick("cumsum cumprod cumulative_sum cumulative_prod")
    few = {"shape": (17,), "dtype": d.pick("f4 f8 i4")} if "prod" in name else {}
    a = d.array("biuf", special=0.12, **few) if d.chance(0.8) else d.array("c", (17,), special=0)
    d.ulp = 64
    if name.startswith("cumulative"):
        if d.host[a].ndim != 1:
            return f"np.{name}({a}, axis={d.axis(a, none=False)}{d.keywords(include_initial=['True'])})"
        return f"np.{name}({a}{d.keywords(include_initial=['True'])})"
    text = d.keywords(
        axis=lambda: d.axis(a), dtype=["'f8'", "'f4'"] if d.host[a].dtype.kind == "f" else ["'f8'", "'i4'"]
    )
    return f"{a}.{name}({text[2:]})" if d.chance(0.4) else f"np.{name}({a}{text})"


def quantile(d):
    a = d.array("biuf", special=0.1)
    d.ulp = 16
    name = d.pick("quantile percentile median nanmedian nanquantile nanpercentile")
    if "median" in name:
        return f"np.{name}({a}{d.keywords(axis=lambda: d.axis(a), keepdims=['True'])})"
    q = d.pick(["0.5", "[0.1, 0.9]", "0", "1", "[0.25]", "1.5", "[]"])
    if name.endswith("percentile"):
        q = d.pick(["50", "[10, 90]", "0", "100", "[25]", "101"])
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
    return f"np.{name}({a}, {q}{d.keywords(axis=lambda: d.axis(a), keepdims=['True'], method=methods)})"


def weighted_quantile(d):
    a = d.array("iuf", special=0.05)
    d.ulp = 16
    w = d.array("iuf", d.host[a].shape, special=0) if d.chance(0.8) else d.like(a, "iuf", special=0)
    axis = d.keywords(axis=lambda: d.axis(a))
    return (
        f"np.quantile({a}, {d.pick(['0.5', '[0.1, 0.9]'])}, method='inverted_cdf', weights=abs({w}) + "
        f"1{axis})"
    )


def average(d):
    a = d.array("iuf", special=0.05) if d.chance(0.8) else d.array("c", special=0)
    d.ulp = 32
    axis = d.keywords(axis=lambda: d.axis(a))
    if d.chance(0.5):
        shape = d.host[a].shape
        w = d.array("iuf", shape, special=0) if d.chance(0.7) else d.array("iuf", shape[-1:], special=0)
        return f"np.average({a}, weights=abs({w}) + 1{axis}{d.keywords(returned=['True'])})"
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
