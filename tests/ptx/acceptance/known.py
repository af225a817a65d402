"""Known differences between the CPU device and ptxas: (statement, message of the one that refuses it,
reason), the first two as regular expressions. A statement refused with another message is not known, and
test_acceptance.py checks that no row of the tables is covered by a difference entirely.
"""

import re

# ptxas refuses these, the device accepts them.
GENEROUS = [
    (
        r"^cp\.async\.bulk\.tensor\.\dd\.shared\.",
        r"State space incorrect",
        "ptxas wants the other name of the same window, .shared::cluster",
    ),
    (
        r"^cp\.async\.bulk\.prefetch\.tensor\.\S* \[.*\], b32_",
        r"Arguments mismatch",
        "a cache policy in a register of 32 bits",
    ),
    (
        r"^tensormap\.replace\.",
        r"not supported on \.target 'sm_\d+'",
        "ptxas requires a target with its own features (sm_90a), which is not distinguished here",
    ),
    (
        r"^(ld|st)\.(?=\S*volatile)(\S*\.)?(local|const|param)\b",
        r"Modifier '.volatile' cannot be applied",
        "NVRTC 13.5 writes st.volatile.local",
    ),
    (
        r"^prefetchu\.L1 \[\wv",
        r"Non-generic address",
        "the address of a variable in its own space: nothing is fetched",
    ),
    (
        r"^setmaxnreg\.",
        r"value '\S+'",
        "a number of registers means nothing here",
    ),
    (
        r"^cp\.(reduce\.)?async\.",
        r"Argument \d of instruction 'cp\.\S*': (unexpected )?value '-?\d+'",
        "sizes of copies are looked at when they run",
    ),
    (
        r"^tex\.(grad|level)\.",
        r"[Vv]ector|Arguments mismatch|Sink '_' not allowed",
        "gradients and levels of a texture are looked at when they are used",
    ),
    (
        r"^setp?\.\S*\.(and|or|xor)\b\S*bf16",
        r"Arguments mismatch",
        "a number may stand for the predicate, as it may with other types",
    ),
    (
        r"^v\w+[24]\.\S* .*-",
        r"Operand negation",
        "which parts of a video instruction may be negated together is the machine code's matter",
    ),
    (
        r"^(mbarrier|red|redux|atom|ld|st|createpolicy)\.\S* .*\b(\d+\.\d+|1e300|0[fd]\w+)",
        r"Arguments mismatch",
        "the bits of a floating-point number stand for an integer",
    ),
    (r"^createpolicy\.\S* f64_", r"Arguments mismatch", "a policy is 64 bits of any type"),
    (r"^cvt\.\S* \w+, .*%", r"Special register argument not allowed", "special registers are read as values"),
    (r"^mbarrier\.\S* .*\[gv", r"Illegal state space", "found when it runs, as with a register"),
    (
        r"^mbarrier\.arrive\S*noComplete",
        r"expected to be a non-zero positive",
        "the count is looked at when it runs",
    ),
    (r"^ld\.(?!\S*const)\S* \w+, \[cv\]", r"State space mismatch", "a generic load of a constant"),
    (r"^pmevent\.mask ", r"out of range", "a mask of no event"),
    (r"^mov\.\S*\bv\d\S* .*\{_, _\}", r"Unable to infer", "a vector of sinks"),
    (r"^bar(rier)?\.arrive\S* \w+, 0;", r"non-zero thread count", "the count is looked at when it runs"),
    (r"^cvta\.\S* \w+, (sf|tx);", r"State space mismatch", "the address of a reference, whatever the space"),
]

# ptxas accepts these, the device refuses them.
STRICT = [
    (
        r"\[b32_\d",
        r"expected an address of 64 bits, found b32_\d",
        "generic and global addresses have 64 bits: one of 32 reaches no memory",
    ),
    (
        r"^atom\.\S*exch\S* [^,]+, [^,]+, [^,]+, ",
        r"takes 3 operands, found 4",
        "a fourth operand that nothing describes",
    ),
    (
        r"^(red|st|mbarrier|cp|atom|multimem)\.\S* (.*, )?_",
        r"expected an address in brackets, found '_'",
        "a sink is no address",
    ),
    (
        r"^(v\w+|createpolicy)\.\S* [^a-z_]",
        r"^operand 1 .*found an integer constant",
        "a number is no destination",
    ),
    (
        r"^set\.\S*bf16",
        r"expected a value of type \.bf16(x2)?, found [us](16|32)_",
        "values of .bf16 are held in registers of .b16 alone, two of them in .b32",
    ),
    (
        r"^(add|sub|fma)\.(\S*\.)?bf16 f32_",
        r"expected a value of type \.bf16, found (an integer constant|[us]16_)",
        "the same next to .f32, and no integer stands for a .bf16",
    ),
    (
        r"^\w+\.\S*bf16\S* .*\{",
        r"expected a (value of type \.bf16(x2)?|register for the result), found a vector",
        "ptxas takes vectors where one .bf16 belongs",
    ),
    (
        r"^(red|atom|multimem)\.\S*bf16x2 .*u32_",
        r"expected a value of type \.bf16x2, found u32",
        "the same as .b16 alone",
    ),
    (
        r"^(mbarrier|txq|cp\.async|st\.async|createpolicy)\.\S* .*\{"
        r"|^clusterlaunchcontrol\.\S* \w+, \{|^tex\.level\.\S* .*\], \{",
        r"found a vector",
        "ptxas takes a vector in places where one value belongs",
    ),
    (
        r"^clusterlaunchcontrol\.query_cancel\.(b32|pred|v4)\."
        r"|^tensormap\.replace\.\S*\.b(32|64)\.(\S*\.)?b1024",
        r"is not an instruction",
        "ptxas overlooks the order of types here",
    ),
    (
        r"^fence\.(?=\S*(mbarrier_init|\.alias|\.async[.;]))\S*sync_restrict"
        r"|^fence\.proxy\.(?=\S*::generic)(\S*\.)?(shared::|global\b)"
        r"|^fence\.proxy\.tensormap::generic\S*sync_restrict",
        r"is not an instruction",
        "ptxas overlooks words of other fences",
    ),
    (
        r"^testp\.f\d\d |^multimem\.(st|red)\.\S*acc::f32|^st\.async\.\S*shared::cta"
        r"|^cvt\.(f16\.bf16|bf16\.f16)",
        r"is not an instruction",
        "a word is missing, or one too many",
    ),
    (
        r"^rcp\.(?!\S*approx)\S*ftz|^fma\.r[mpz]\.((oob|relu)\.)*bf16",
        r"is not an instruction",
        "what the manual does not have: neither .ftz for .f64 nor directed rounding for .bf16",
    ),
    (r"^multimem\.(st|red)\.\S* gv\[", r"expected an address in brackets", "an address has brackets"),
    (
        r"^(ld|st)matrix\.\S*\.(row|col)\b|^mapa\.\S*s64|^vset\.\S*\.(lo|ls|hi|hs)\b",
        r"is not a modifier",
        "words that say nothing",
    ),
    (r"^multimem\.\S*\.e[45]m\dx4", r"is not a modifier", "types that no multimem instruction here has"),
    (r"^bar(rier)?\.", r"expected a barrier from 0 to 15, found an integer", "there are 16 barriers"),
    (r"^fence\.\S* \[f64_", r"expected an address in an integer register", "an address is an integer"),
    (r"^mov\.b\d+ \w+, \{\w+\};", r"a vector that fills the other operand", "one element is not a vector"),
    (r"^movmatrix\.\S* \w+, !pred_", r"expected a value of type \.b32, found pred", "a predicate is no row"),
    (
        r"^cvt\.\S* .*[bu](64|128)_|^cvt\.\S*(bf16x2\.ue8m0x2|ue8m0x2\.bf16x2) |^set\.\S*\.bf16x2 .*pred_",
        r"expected a value of type \.\w+, found (b64|u64|b128|[sf]32|pred)_",
        "registers wider than the type, and anything for two .bf16",
    ),
    (
        r"^cp\.async\.\S*wait_group(\.read)? (-|~|0xf)",
        r"the number of groups must not be negative",
        "a negative number of groups",
    ),
    (
        r"^cp\.\S*\b(tensor|mbarrier::complete_tx)",
        r"expected an address in brackets, found",
        "ptxas takes a value where the address of a copy belongs",
    ),
    (
        r"^(suld|sust|sured)\.",
        r"found a vector|expected a vector in braces|of type \.\w+, found (\w*64|b128)_",
        "registers wider or more than what a surface holds",
    ),
    (r"^istypep\.\S* pred_\d, [^b]", r"a handle in a 64-bit register", "a handle is held in a register"),
    (
        r"^mov\.(\S+\.)?v[24]\b.*\}, [^{]",
        r"expected a vector in braces",
        "one value for a vector, of which ptxas makes two halves",
    ),
    (
        r"^multimem\.st\.\S*bf16x2 \[\w+\], [^b{]",
        r"found (an integer|a floating-point) constant",
        "ptxas takes a number for this type alone",
    ),
    (
        r"(?<!\[)\b(f16|f32|f64|pred|b8|u8|s8|b128|bf16)_\d\+|^createpolicy\.\S* b64_\d\+",
        r"a number is added to an integer register that is read",
        "ptxas takes one next to any register, but crashes or hangs when the sum has a use",
    ),
    (
        r"^st\.async\.",
        r"takes [23] operands, found [23]",
        "a barrier without the words for it, or the other way",
    ),
    (r"^multimem\.st\.\S* .*\{\w+\}", r"found a vector", "one element is not a vector"),
    (r"(?<!\[)\b\w+_\d\+", r"expected a value of type", "nor does ptxas look at the register's type then"),
    (
        r"^tex\.\S*f16x2\.(f32|s32) ",
        r"expected a value of type \.(f32|s32|f16x2), found [usf]32_",
        "ptxas overlooks types next to .f16x2",
    ),
]

# What a target or version lacks, although one of the two accepts it.
OLDER = [
    (r"^(min|max)\..* .*, .*, .*, ", ".", "three operands: the row, not the words, would have to say so"),
    (r"^mbarrier\.arrive\S* .*, .*, ", ".", "the same of a count"),
    (r"^cp\.async\..*pred_\d", ".", "the same of a predicate"),
    (r"^cp\.async\.\S*shared::cta", ".", "ptxas takes the longer name in any version"),
    (r"^atom\..*b128", ".", "generic ones are of sm_90"),
    (r"^cvt\.\S*bf16\S*bf16 |^cvt\S*\.f32\.bf16 |^cvt\S*e[45]m\dx2", ".", "a version of one target only"),
    (r"^cp\.async\.bulk\.shared::cta", ".", "the same"),
    (r"^(tex|txq|suld|sust|suq)\.", "sm_20", "handles in registers are of sm_20"),
]


def is_known(statement, refusal, differences):
    """Whether one of the differences has this statement and this message."""
    return any(
        re.search(pattern, statement) and re.search(reason, refusal) for pattern, reason, _ in differences
    )
