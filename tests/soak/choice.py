"""Which steps the threads of a random program do. A row of STEPS is a step and how often it comes."""

import os
import random

import algebra
import pressing
import steps

STEPS = [
    (steps.copy_and_launch, 3), (steps.launch_on_streams, 5), (steps.fills, 2), (steps.host_arguments, 3),
    (steps.prepared_calls, 2), (pressing.pageable_copies, 2), (pressing.full_queue, 1), (steps.arrays, 3),
    (steps.lent_arrays, 3), (steps.pooled, 3), (steps.managed, 2), (steps.registered, 2),
    (steps.shaped_copies, 3), (steps.grown_memory, 2), (steps.between_devices, 1),
    (steps.moved_arrays, 2), (steps.green, 1), (steps.pickled, 2),
    (steps.texture_object, 3), (steps.surface_object, 3), (steps.texture_reference, 2),
    (steps.texture_of_array, 2), (steps.surface_reference, 2), (steps.modules, 2), (steps.half_linked, 1),
    (steps.globals_of_modules, 1), (steps.compiling, 1), (pressing.fresh_code, 1), (steps.streams, 3),
    (steps.events, 3), (steps.contexts, 1), (pressing.crowd, 1), (pressing.detached_meanwhile, 1),
    (steps.primary, 1), (steps.drop, 6), (steps.keep_some, 2), (steps.cycles, 2), (steps.function_order, 3),
    (steps.function_drops, 4), (steps.function_does, 4), (steps.graphs, 3), (pressing.concurrent_graphs, 2),
    (pressing.captures, 1), (algebra.products, 1), (algebra.transforms, 1), (algebra.systems, 1),
    (algebra.captured_algebra, 1), (steps.refused, 2), (steps.raised, 2), (steps.queries, 1),
]  # fmt: skip


def kinds_of(plan):
    """The rows of STEPS that a program uses: all, or plan.focus of them, so that its threads use the same
    things more often. The environment may leave steps out or choose them, see program.py."""
    without, only = (os.environ.get(name, "").split(",") for name in ("SOAK_WITHOUT", "SOAK_ONLY"))
    kinds = [row for row in STEPS if row[0].__name__ not in without]
    if only != [""]:
        return [row for row in STEPS if row[0].__name__ in only]
    return random.Random(f"kinds {plan.seed}").sample(kinds, plan.focus) if plan.focus else kinds


def choose_steps(dice, plan, count):
    """`count` random steps of a thread."""
    kinds = kinds_of(plan)
    return dice.choices([step for step, _ in kinds], [weight for _, weight in kinds], k=count)


def endless_steps(dice, plan):
    """Random steps without end, with long waits, so that some thread is in one when the program ends."""
    while True:
        yield from choose_steps(dice, plan, 5)
        if plan.compiling and dice.random() < 0.5:
            yield pressing.fresh_code
        if dice.random() < 0.7:
            yield steps.long_wait
