"""What a seed draws: the arrays of a program, as text that makes them with NumPy, and parameters of calls.

An array is a base, which owns its memory, and a view of it. Most values are small multiples of a quarter, so
that sums are exact in any order; a few are extremes, NaN, infinities and zeros of both signs. There are few
dtypes and layouts, some of them rare, because each combination is a kernel to compile.
"""

import math
import random
import string

import numpy as np

# How often a dtype is drawn relative to others of its kind.
KINDS = {
    "b": {"?": 1},
    "i": {"i1": 1, "i2": 1, "i4": 6, "i8": 6},
    "u": {"u1": 4, "u2": 1, "u4": 1, "u8": 1},
    "f": {"f2": 1, "f4": 8, "f8": 6},
    "c": {"c8": 3, "c16": 1},
}
# How often a kind is drawn relative to others.
WEIGHT = {"b": 2, "i": 5, "u": 2, "f": 9, "c": 2}
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 32, 33, 100, 1023, 1024, 1025]
SHAPES = [(3, 4), (1, 5), (4, 1), (0, 3), (2, 0), (1, 1), (5, 5), (16, 17), (33, 32), (2, 3, 4), (3, 1, 2),
          (2, 17, 3), (2, 0, 2), (2, 1, 3, 2)]  # fmt: skip
# How often a kind of view is drawn relative to others; Draw has a method for each.
VIEWS = {
    "plain": 10, "reversed": 2, "strided": 2, "offset": 2, "transposed": 2, "broadcast": 1, "bytes": 1,
    "fortran": 1,
}  # fmt: skip
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0]
PATTERN = 23  # how many elements of an array are drawn; longer arrays repeat them


class Draw:
    """The random numbers of one seed, and the arrays that were drawn."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.bases, self.views = {}, {}  # {name: text that makes it}
        self.host = {}  # {name of a view: NumPy's array}
        self.compared = []  # the names of arrays that are compared after the calls
        self.special = set()  # the names of views that may have extremes, NaN, infinities
        self.ulp = 0  # tolerance of the last call's results: units in the last place of the largest

    # ---- choices

    def chance(self, part):
        """True with the probability `part`."""
        return self.rng.random() < part

    def pick(self, choices):
        """One of the words of a text, of a list, or of a dict of weights."""
        if isinstance(choices, dict):
            return self.rng.choices(list(choices), list(choices.values()))[0]
        return self.rng.choice(choices.split() if isinstance(choices, str) else list(choices))

    def integer(self, low, high):
        """An integer from low to high, both included."""
        return self.rng.randint(low, high)

    def keywords(self, part=0.4, **choices):
        """Text of keyword arguments, each with the probability `part`: ", name=value". For each name,
        `choices` has a list of values as text, or a function that returns one.
        """
        found = ""
        for name, values in choices.items():
            if self.chance(part):
                found += f", {name}={values() if callable(values) else self.pick(values)}"
        return found

    # ---- arrays

    def dtype(self, kinds):
        """Text of a dtype of one of these kinds (the letters of dtype.kind)."""
        return self.pick(KINDS[self.pick({kind: WEIGHT[kind] for kind in kinds})])

    def shape(self, min_ndim=0, max_ndim=4):
        """A shape with so many axes, more than half of them with one axis if that is possible."""
        if min_ndim <= 1 <= max_ndim and self.chance(0.55 if max_ndim > 1 else 1):
            return (self.pick(LENGTHS),)
        fitting = [shape for shape in SHAPES if min_ndim <= len(shape) <= max_ndim]
        if min_ndim == 0 and (not fitting or self.chance(0.15)):
            return ()
        return self.pick(fitting)

    def array(self, kinds="biufc", shape=None, min_ndim=0, max_ndim=4, special=0.25, view=None, dtype=None):
        """The name of a new array or, sometimes, of an earlier one that fits.

        kinds: the letters of dtype.kind that it may have; shape: None for any with min_ndim to max_ndim axes;
        special: a quarter of it is the probability that an element is one of SPECIAL, or of an integer that
        it is a limit of the dtype; view: a name of VIEWS; dtype: exactly this one.
        """
        if dtype is None and self.chance(0.15):
            fitting = [
                name
                for name, each in self.host.items()
                if each.dtype.kind in kinds
                and (special or name not in self.special)
                and (each.shape == shape if shape is not None else min_ndim <= each.ndim <= max_ndim)
            ]
            if fitting:
                return self.pick(fitting)
        shape = self.shape(min_ndim, max_ndim) if shape is None else tuple(shape)
        dtype = np.dtype(dtype or self.dtype(kinds))
        name = string.ascii_letters[len(self.views)]
        view = view or self.pick(VIEWS)
        base, text = getattr(self, f"_{view}")(shape, dtype, special, f"{name}_base")
        self.bases[f"{name}_base"], self.views[name] = base, text
        names = namespace()
        names[f"{name}_base"] = eval(base, names)
        self.host[name] = eval(text, names)
        # A base of bytes is compared by its view: the bits of NaNs may differ.
        self.compared += [name] if view == "bytes" else [f"{name}_base"]
        if special:
            self.special.add(name)
        return name

    def like(self, name, kinds="biufc", **options):
        """The name of an array that can be broadcast to another's shape, mostly of the same dtype. One in
        fifty does not fit.
        """
        shape = list(self.host[name].shape)
        if shape and self.chance(0.3):
            shape[self.integer(0, len(shape) - 1)] = 1
        if shape and self.chance(0.15):
            del shape[0]
        if self.chance(0.02):
            shape = [length + 1 for length in shape]
        known = self.host[name].dtype
        if "dtype" not in options and known.kind in kinds and self.chance(0.7):
            options["dtype"] = known.str
        return self.array(kinds, shape, **options)

    def out(self, shape, dtype, part=0.3):
        """With the probability `part` ", out=name" with an array of this shape, else nothing. The dtype is
        the given one, or another into which results can be cast.
        """
        if not self.chance(part):
            return ""
        if not self.chance(0.7):
            # Floats stay floats: a float that an integer dtype cannot hold has no defined value there.
            dtype = self.dtype({"f": "f", "c": "c"}.get(np.dtype(dtype).kind, "if"))
        return f", out={self.array(shape=shape, dtype=dtype, special=0, view=self.pick(VIEWS))}"

    # ---- parameters

    def axis(self, name, none=True, several=False):
        """Text of an axis of an array, sometimes one that does not exist. none: "None" is possible; several:
        a tuple is possible.
        """
        ndim = self.host[name].ndim
        if none and self.chance(0.3):
            return "None"
        if self.chance(0.03):
            return str(self.pick([ndim, -ndim - 1, ndim + 3]))
        if several and self.chance(0.3):
            axes = self.rng.sample(range(ndim), self.integer(0, ndim))
            return str(tuple(axis - ndim if self.chance(0.3) else axis for axis in axes))
        return str(self.integer(-ndim, ndim - 1)) if ndim else self.pick("0 -1 None")

    def number(self, kind="f"):
        """Text of a number of Python or NumPy, for operands of this kind (dtype.kind)."""
        value = self.pick([0, 1, 2, 3, -1, 7] if kind != "u" else [0, 1, 2, 3, 7])
        if kind == "b":
            return self.pick("True False")
        if kind == "c" and self.chance(0.5):
            return f"({value}+0.5j)"
        if kind in "fc" and self.chance(0.5):
            return self.pick(
                ["0.5", "2.0", "-1.25", "np.float32(1.5)", "np.float64(0.25)", "nan", "inf", "-0.0"]
            )
        return str(value) if self.chance(0.8) else f"np.int32({value})"

    # ---- bases and views. The methods named as in VIEWS take (shape, dtype, special, base), where `base` is
    # the name of the base, and return (the text that makes the base, the text of a view of it with this shape
    # and dtype).

    def values(self, shape, dtype, special):
        """Text that makes an array in C order."""
        size = math.prod(shape)
        count = min(size, PATTERN)
        numbers = [self._value(dtype, special) for _ in range(count)]
        if dtype.kind == "c":
            parts = [number for pair in numbers for number in pair]
            made = f"np.array({parts!r}, 'f{dtype.itemsize // 2}').view('{dtype.str[1:]}')"
        else:
            made = f"np.array({numbers!r}, '{dtype.str[1:]}')"
        return f"np.resize({made}, {shape})"

    def _value(self, dtype, special):
        """One element: a bool, int or float; of a complex dtype a pair of floats."""
        odd = special and self.chance(special * 0.25)
        if dtype.kind == "c":
            real = np.dtype(f"f{dtype.itemsize // 2}")
            return self._value(real, special), self._value(real, special)
        if dtype.kind == "b":
            return self.chance(0.5)
        if dtype.kind == "f":
            return self.pick(SPECIAL) if odd else self.integer(-32, 32) / 4
        limits = np.iinfo(dtype)
        if odd:
            return self.pick([limits.min, limits.max, limits.max - 1, 0])
        return self.integer(max(-9, limits.min), 9)

    def _plain(self, shape, dtype, special, base):
        return self.values(shape, dtype, special), base

    def _fortran(self, shape, dtype, special, base):
        return f"np.asfortranarray({self.values(shape, dtype, special)})", base

    def _along(self, shape, dtype, special, base, change, index):
        """As the methods of VIEWS: along one axis, the base has the length change(length of the view), and
        the view is selected by `index`.
        """
        if not shape:
            return self._plain(shape, dtype, special, base)
        axis = self.integer(0, len(shape) - 1)
        larger = list(shape)
        larger[axis] = change(larger[axis])
        return self.values(tuple(larger), dtype, special), f"{base}[{':, ' * axis}{index}]"

    def _reversed(self, *args):
        return self._along(*args, lambda n: n, "::-1")

    def _strided(self, *args):
        return self._along(*args, lambda n: 2 * n, self.pick(["::2", "1::2", "::-2"]))

    def _offset(self, *args):
        return self._along(*args, lambda n: n + 1, "1:")

    def _transposed(self, shape, dtype, special, base):
        return self.values(shape[::-1], dtype, special), f"{base}.T"

    def _broadcast(self, shape, dtype, special, base):
        if not shape:
            return self._plain(shape, dtype, special, base)
        smaller = list(shape)
        smaller[self.integer(0, len(shape) - 1)] = 1
        return self.values(tuple(smaller), dtype, special), f"np.broadcast_to({base}, {shape})"

    def _bytes(self, shape, dtype, special, base):
        """As the methods of VIEWS: a view of bytes whose address is a multiple of the size of a real number,
        but of no larger power of two.
        """
        if 0 in shape or not shape:
            return self._plain(shape, dtype, special, base)
        word = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
        made = f"np.frombuffer(bytes({word}) + {self.values(shape, dtype, special)}.tobytes(), 'u1').copy()"
        return made, f"{base}[{word}:].view('{dtype.str[1:]}').reshape({shape})"


def namespace():
    """The names that texts may use, except for arrays."""
    return {"np": np, "nan": math.nan, "inf": math.inf}
