"""Where the CPU device and ptxas knowingly disagree: (pattern of the statement or file, why). Few."""

import re

# ptxas refuses these, the device takes them.
GENEROUS = [
    (r"\[\d+\]", "the manual has addresses that are numbers; ptxas has them in .local alone"),
    (r"^(ld|st)\.(?=\S*volatile)\S*(local|const|param)", "NVRTC 13.5 writes st.volatile.local"),
    (r"^prefetchu\.L1 \[\wv", "the address of a variable in its own space: nothing is fetched"),
    (r"^wmma\.load.* b32_0, ", "one register need not stand in braces"),
    (r"^setmaxnreg", "a number of registers means nothing here"),
    (
        r"^mbarrier\.arrive.*shared::cluster",
        "a barrier's state may be asked for: a cluster has one block here",
    ),
    (r"^(cp\.async|cp\.reduce)", "sizes of copies are looked at when they run"),
    (r"^tex\.grad", "the gradients of a texture are looked at when they are used"),
    (r"^setp?\..*(and|or|xor).*bf16", "a number may stand for the predicate, as it may beside other types"),
    (
        r"^v\w+[24]\..*-",
        "which parts of a video instruction may be negated together is the machine code's matter",
    ),
    (
        r"^(mbarrier|red|atom|ld|st|createpolicy)\b.* (-?[\d.]+|0d\w+)(, |;)",
        "the bits of a number of 64 bits",
    ),
    (r"^cvt\.pack.*%", "special registers are read as values"),
    (r"^mbarrier.*\[gv", "found when it runs, as with a register"),
    (r"\? \d\.\d", "the manual has conditional expressions of floating-point numbers"),
]

# ptxas takes these, the device refuses them.
STRICT = [
    (r"\[b32_\d", "generic and global addresses have 64 bits: one of 32 reaches no memory"),
    (r"^atom.*, .*, .*, ", "a fourth operand that nothing describes"),
    (r"^(red|st|mbarrier|cp|atom)\b.*[ ,\[]_\b", "a sink is no address"),
    (r"^(v\w+|createpolicy)\S* [^a-z_]", "a number is no destination"),
    (r"^set\..*bf16", "values of .bf16 are held in registers of .b16 alone"),
    (
        r"^(?!(ld|ldu|st|tex|tld4|suld|sust|mov|mma|wmma|ldmatrix|stmatrix)\b).*\{.*\}",
        "ptxas takes vectors in some places where one value belongs",
    ),
    (r"^(testp|fence\.proxy|tensormap|clusterlaunchcontrol)\.", "ptxas overlooks order and words here"),
    (r"^(cvt\.(f16\.bf16|bf16\.f16)|rcp\..*ftz.*f64)", "the manual asks for a rounding, or has none"),
    (r"^(fma|add|sub|mul|cvt|cp)\..*(\d, |\d;)", "an immediate where the manual has a register"),
    (r"^cp\.async.*wait_group", "a negative number of groups"),
    (r"^(suld|sust|sured)", "registers wider than what a surface holds"),
    (r"^istypep", "a handle is held in a register"),
    (r"^mov\.(\S+\.)?v[24]\b.*\}, [^{]", "one value for a vector, of which ptxas makes two halves"),
    (r"(multimem|tex|cp|st\.async)", "not supported"),
]

# What a target or version lacks and either of the two lets pass.
OLDER = [
    (r"^(min|max)\..* .*, .*, .*, ", "three operands: the row, not the words, would have to say so"),
    (r"^mbarrier\.arrive\S* .*, .*, ", "the same of a count"),
    (r"^cp\.async\..*pred_\d", "the same of a predicate"),
    (r"^cp\.async\.\S*shared::cta", "ptxas takes the longer name in any version"),
    (r"^atom\..*b128", "generic ones are of sm_90"),
    (r"^cvt\.\S*bf16\S*bf16 |^cvt\S*\.f32\.bf16 |^cvt\S*e[45]m\dx2", "a version of one target only"),
    (r"^cp\.async\.bulk\.shared::cta", "the same"),
]


def is_known(statement, differences):
    return any(re.search(pattern, statement) for pattern, _ in differences)
