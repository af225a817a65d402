"""The compression of MD5 (RFC 1321) as a part of a kernel's body: what pycuda.curandom calls md5_code."""

from __future__ import annotations

import math

_WORDS = """threadIdx.x threadIdx.y threadIdx.z blockIdx.x blockIdx.y blockIdx.z seed i n
blockDim.x blockDim.y blockDim.z gridDim.x gridDim.y gridDim.z 0""".split()
_START = {"a": 0x67452301, "b": 0xEFCDAB89, "c": 0x98BADCFE, "d": 0x10325476}
# For each round of 16 steps: the function of three words, by how many bits steps 0 to 3 rotate (and so on),
# and which word a step takes.
_ROUNDS = (
    ("({z} ^ ({x} & ({y} ^ {z})))", (7, 12, 17, 22), lambda step: step),
    ("({y} ^ ({z} & ({x} ^ {y})))", (5, 9, 14, 20), lambda step: 5 * step + 1),
    ("({x} ^ {y} ^ {z})", (4, 11, 16, 23), lambda step: 3 * step + 5),
    ("({y} ^ ({x} | ~{z}))", (6, 10, 15, 21), lambda step: 7 * step),
)


def _step(number: int) -> str:
    """The statements of one of MD5's 64 steps."""
    mixed, turns, word = _ROUNDS[number // 16]
    w, x, y, z = ("abcd"[(place - number) % 4] for place in range(4))
    sine = int(abs(math.sin(number + 1)) * 2**32)
    return (
        f"md5_sum = {w} + {mixed.format(x=x, y=y, z=z)} + md5_words[{word(number) % 16}] + {sine:#010x}u;\n"
        f"{w} = {x} + __funnelshift_l(md5_sum, md5_sum, {turns[number % 4]});\n"
    )


def code() -> str:
    """The statements that compute a digest.

    Returns
    -------
    str
        Statements that declare `a`, `b`, `c` and `d`, of type unsigned int: the digest of a block of 16
        words, which are the place of the thread and the names `seed`, `i` and `n` where the text is pasted.
    """
    words = ", ".join(f"(unsigned int)({word})" for word in _WORDS)
    first = "".join(f"unsigned int {name} = {value:#010x}u;\n" for name, value in _START.items())
    last = "".join(f"{name} += {value:#010x}u;\n" for name, value in _START.items())
    steps = "".join(map(_step, range(64)))
    declared = f"const unsigned int md5_words[16] = {{{words}}};\nunsigned int md5_sum;\n"
    return f"\n{first}{{\n{declared}{steps}}}\n{last}"
