"""What a seed draws: the arrays of a program, as text that makes them with NumPy, and parameters of calls.

An array is a base, which owns its memory, and a view of it. Values are small multiples of a quarter, so that
sums are exact in any order, now and then extremes, NaN, infinities and zeros of both signs. Dtypes and
layouts are few and some are rare: each pair of them is a kernel to compile.
"""

import math
import random
import string

import numpy as np

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
VIEWS = {
    "plain": 10, "reversed": 2, "strided": 2, "offset": 2, "transposed": 2, "broadcast": 1, "bytes": 1,
    "fortran": 1,
}  # fmt: skip
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0]
PATTERN = 23  # numbers that are drawn of an array; longer ones repeat them


class Draw:
    """The dice of one seed and what they have drawn: `bases` and `views` are names with the text that makes
    them, `host` has NumPy's arrays by name."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.bases, self.views, self.host = {}, {}, {}
        self.compared = []  # what is compared after the calls
        self.special = set()  # the names of arrays with extremes, NaN, infinities
        self.ulp = 0  # how far results of the last call may be off: units in the last place of the largest

    # ---- dice

    def chance(self, part):
        """True in this part of all cases."""
        return self.rng.random() < part

    def pick(self, choices):
        """One of the words of a text, of a list, or of a dict of weights."""
        if isinstance(choices, dict):
            return self.rng.choices(list(choices), list(choices.values()))[0]
        return self.rng.choice(choices.split() if isinstance(choices, str) else list(choices))

    def integer(self, low, high):
        return self.rng.randint(low, high)

    def keywords(self, part=0.4, **choices):
        """Text of some keyword arguments, each at a chance of `part`: ", name=value". For each name,
        `choices` has a list of values as text, or a function that returns one."""
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
        if min_ndim <= 1 <= max_ndim and self.chance(0.55 if max_ndim > 1 else 1):
            return (self.pick(LENGTHS),)
        fitting = [shape for shape in SHAPES if min_ndim <= len(shape) <= max_ndim]
        if min_ndim == 0 and (not fitting or self.chance(0.15)):
            return ()
        return self.pick(fitting)

    def array(self, kinds="biufc", shape=None, min_ndim=0, max_ndim=4, special=0.25, view=None, dtype=None):
        """The name of a new array, or now and then of one that is there and fits.

        kinds: letters of dtype.kind that it may have; shape: None: any from min_ndim to max_ndim axes;
        special: a quarter of this is the chance of each element to be one of SPECIAL, or for integers a limit
        of the dtype; view: a name of VIEWS; dtype: that very one."""
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
        self.compared += [name] if view == "bytes" else [f"{name}_base"]  # bits of NaNs may differ
        if special:
            self.special.add(name)
        return name

    def like(self, name, kinds="biufc", **options):
        """An array that can be broadcast to another's shape; mostly of the same dtype."""
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
        """Text of an out= with an array of that shape at a chance of `part`: ", out=name", or nothing."""
        if not self.chance(part):
            return ""
        # What a float out of range becomes in an integer is not C's to say.
        dtype = (
            dtype if self.chance(0.7) else self.dtype({"f": "f", "c": "c"}.get(np.dtype(dtype).kind, "if"))
        )
        return f", out={self.array(shape=shape, dtype=dtype, special=0, view=self.pick(VIEWS))}"

    # ---- parameters

    def axis(self, name, none=True, several=False):
        """Text of an axis of an array; now and then one that it has not. none: "None" may come, too; several:
        a tuple may."""
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
        """Text of a number of Python, or of NumPy."""
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

    # ---- text of bases and views of a shape: a method for each name of VIEWS, which returns the text that
    # makes the base, and the text of a view, with this shape and dtype, of the base whose name is `base`

    def values(self, shape, dtype, special):
        """Text of an array in C order."""
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
        """A base with another length along one axis, change(length of the view), and an index for that
        axis."""
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
        """An array whose address is a multiple of the size of a number, and of no larger power of two."""
        if 0 in shape or not shape:
            return self._plain(shape, dtype, special, base)
        word = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
        made = f"np.frombuffer(bytes({word}) + {self.values(shape, dtype, special)}.tobytes(), 'u1').copy()"
        return made, f"{base}[{word}:].view('{dtype.str[1:]}').reshape({shape})"


def namespace():
    return {"np": np, "nan": math.nan, "inf": math.inf}
