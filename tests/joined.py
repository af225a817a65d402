"""Programs that share a process: on a GPU most of a short process's time goes into its context."""

NEXT = "the next program"


def joined(programs):
    """A program that runs these, each with names of its own, and prints NEXT between them. One alone stays as
    it is: processes that it starts import its file."""
    if len(programs) == 1:
        return programs[0]
    return f"""
for number, text in enumerate({programs!r}):
    if number:
        print({NEXT!r}, flush=True)
    exec(compile(text, f"program {{number}}", "exec"), {{"__name__": "__main__"}})
"""


def outputs(printed):
    """What each of the programs has printed."""
    return printed.split(f"{NEXT}\n")
