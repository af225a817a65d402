"""A process that runs cases: for each seed, a line of stdin, it prints an answer, a line of JSON.

    {"seed": 17, "found": a difference or null, "program": text if there is one, "lost": whether the context
    was lost,
     "group": the groups of the calls}

It ends after a case that lost the context.
"""

import json
import os
import sys

from case import Case

import pycuda.driver as drv


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # other output must not get among the answers
    drv.init()
    drv.Device(0).retain_primary_context().push()
    print("ready", file=answers, flush=True)
    only = sys.argv[1] if len(sys.argv) > 1 else None
    for line in sys.stdin:
        seed, lost, case, found = int(line), False, None, None
        try:
            case = Case(seed, only)
            found = case.run()
            drv.Context.synchronize()
        except drv.Error as error:
            found, lost = f"context lost: {'; '.join(text for text, _ in case.calls)}: {error}", True
        except Exception as error:
            found = f"the test itself: {type(error).__name__}: {error}"
        answer = {"seed": seed, "found": found, "lost": lost, "group": case.groups if case else []}
        if found:
            answer["program"] = case.program() if case else ""
        print(json.dumps(answer), file=answers, flush=True)
        if lost:
            break


if __name__ == "__main__":
    main()
