"""docs/limits/ptx.md is what the CPU device answers when a module is loaded: statements of every row of the
device's tables are tried, for the targets that know them (tests/ptx/acceptance).
"""

import ast
import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from limits import ROOT, judges, pages, statements, tables

pytestmark = pytest.mark.cpu("what the CPU device executes")

TARGETS = "sm_90a", "sm_100a", "sm_120a"
HIGHEST = (12, 1)  # compute capability: every target loads
SUPPORT = "not supported by the CPU device"
# Statements that are not generated, and their words.
OTHERS = {
    "cvt.rn.satfinite.e2m1x2.f32 b8_0, f32_1, f32_2;": ("cvt", ["rn", "satfinite", "e2m1x2", "f32"]),
    "tcgen05.wait::ld.sync.aligned;": ("tcgen05", ["wait::ld", "sync", "aligned"]),
}
# An instruction whose name is composed in its test.
COMPOSED = {"mma.sp": "test_mma_sparse.py"}


def rows_with(refusal):
    """(a row of instructions.def, its words with those that are refused) where a mnemonic can have them."""
    for row in tables.instruction_rows():
        wanted, words = set(refusal.words), []
        for element in row.elements if row.opcode == refusal.opcode else []:
            found = [word for word in element.words if word[1:] in wanted]
            wanted -= {word[1:] for word in found[:1]}
            words.append(found[0] if found else None if element.optional else element.words[0])
        if row.opcode == refusal.opcode and not wanted:
            yield row, words


def generated():
    """{statement: its (opcode, words without dots)}: some of every row, and of what each refusal is about."""
    made, rng = dict(OTHERS), random.Random(3)
    for row in tables.instruction_rows():
        for opcode, words, operands in statements.seeds_of(row, rng, 10):
            made[statements.spelled((opcode, words, operands))] = opcode, [word[1:] for word in words]
    for refusal in pages.refusals():
        for row, words in rows_with(refusal):
            for with_optional in False, True:
                statement = statements.seed(row, words, with_optional)
                made[statements.spelled(statement)] = row.opcode, [word[1:] for word in statement[1]]
    return made


def judged(made):
    """{statement: None if it loads for a target, else the refusal that says "not supported", else ""}."""
    devices, found = [judges.Device(target) for target in TARGETS], {}
    for statement in made:
        answers = [device.alone(statement) for device in devices]
        refused = [answer for answer in answers if answer and SUPPORT in answer]
        found[statement] = None if None in answers else refused[0] if refused else ""
    return found


def tried_otherwise(name):
    """Whether a form of tests/ptx or an example loads, for instructions whose operands are not generated."""
    sys.path.insert(0, str(ROOT / "tools"))
    import ptx_coverage
    from ptx_cases import runner, table

    forms = [form for form in table.all_forms() if form.opcode == name]
    if forms:
        return not isinstance(runner.load(forms[:1])[0], runner.Refused)
    return name in ptx_coverage.EXAMPLES and not ptx_coverage.answer(ptx_coverage.EXAMPLES[name])


def check_states():
    """Of "yes" a statement loads and none is refused with a reason, of "no" none loads, of "in part" one
    loads and one is refused.
    """
    made = generated()
    answers, loaded, refused = judged(made), {}, {}
    for statement, answer in answers.items():
        name = pages.name_of(*made[statement])
        if answer is None:
            loaded[name] = statement
        elif SUPPORT + ": " in answer:
            refused[name] = statement
    found = {}
    for name in pages.INSTRUCTIONS:
        loads = name in loaded or tried_otherwise(name)
        found[name] = ("in part" if name in refused else "yes") if loads else "no"
    assert found == {name: answer.state for name, answer in pages.instructions().items()}
    assert len(made) > 5000


def check_refusals():
    """Statements that a row of refused.def is about are refused with its reason; all of them, unless it
    says which.
    """
    made = generated()
    answers = judged(made)
    for refusal in pages.refusals():
        about = [
            answers[statement]
            for statement, (opcode, words) in made.items()
            if opcode == refusal.opcode and set(refusal.words) <= {*words}
        ]
        hits = [answer for answer in about if answer and answer.endswith(f"{SUPPORT}: {refusal.why}")]
        assert hits, refusal
        assert refusal.some or None not in about, refusal


def check_reasons(ptxas):
    """What ptxas takes and the device refuses as not supported, it refuses with a reason."""
    answers = judged(generated())
    bare = [statement for statement, answer in answers.items() if answer and answer.endswith(SUPPORT)]
    assert len(bare) > 200
    right = {
        statement
        for target in TARGETS
        for statement, verdict in judges.Ptxas(ptxas, target).judge(bare).items()
        if verdict is None
    }
    assert right == set()


def test_the_page_has_every_opcode():
    opcodes = {columns[0] for word, columns in tables.rows("instructions.def") if word == "OPCODE"}
    assert {name.split(".")[0] for name in pages.INSTRUCTIONS} == opcodes
    assert len(set(pages.INSTRUCTIONS)) == len(pages.INSTRUCTIONS) > 140


def test_states(at_capability):
    at_capability(HIGHEST, check_states)


def test_refusals(at_capability):
    at_capability(HIGHEST, check_refusals)


def test_what_ptxas_takes_is_refused_with_a_reason(at_capability):
    path = judges.find_ptxas()
    if path is None or judges.version_of(path)[0] != 13:
        pytest.skip("no ptxas of version 13")
    at_capability(HIGHEST, check_reasons, path)


def strings_of(path):
    """The strings of a program without its docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    bodies = [node.body for node in nodes if isinstance(getattr(node, "body", None), list) and node.body]
    docstrings = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


def test_every_instruction_that_is_executed_has_a_case():
    """A form in tests/ptx/ptx_cases, or its name in a program of a test in tests/ptx."""
    from ptx_cases import table

    forms = {pages.name_of(form.opcode, form.name.split(" ")[0].split(".")[1:]) for form in table.all_forms()}
    paths = [path for path in (ROOT / "tests" / "ptx").rglob("*.py") if path.parent.name != "acceptance"]
    paths = [path for path in paths if path.name != "test_unsupported.py"]
    texts = "\n".join(text for path in paths for text in strings_of(path))
    others = [
        name for name, answer in pages.instructions().items() if answer.state != "no" and name not in forms
    ]
    assert len(others) > 20 and set(COMPOSED.values()) <= {path.name for path in paths}
    without = {name for name in others if not re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", texts)}
    assert without == set(COMPOSED)
