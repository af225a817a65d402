"""What pycuda.driver has besides the names of pycuda._driver, for the private modules as well."""

from __future__ import annotations

from pycuda._driver import Error


class _DefaultStream:
    """The legacy default stream (CU_STREAM_LEGACY); None is the stream of a `with` block."""

    @staticmethod
    def __cuda_stream__() -> tuple[int, int]:
        """The protocol by which libraries share streams."""
        return 0, 1

    def __repr__(self) -> str:
        return "pycuda.driver.LEGACY_DEFAULT_STREAM"


LEGACY_DEFAULT_STREAM = _DefaultStream()


class CompileError(Error):
    """The source does not compile.

    Parameters
    ----------
    msg : str
    command_line : list of str
        The compiler's arguments.
    stdout, stderr : str
        All that it wrote.
    """

    def __init__(self, msg, command_line, stdout=None, stderr=None):
        super().__init__(msg, command_line, stdout, stderr)
        self.msg = msg
        self.command_line = command_line
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self):
        parts = [self.msg]
        if self.command_line:
            parts.append(f"[command: {' '.join(map(str, self.command_line))}]")
        parts += [
            f"[{name}:\n{text}]" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text
        ]
        return "\n".join(parts)
