"""Names of pycuda.driver that are not in pycuda._driver, but that private modules need, too."""

from __future__ import annotations

from pycuda._base.public_names import documented_init
from pycuda._driver import Error


class _DefaultStream:
    """The legacy default stream (CU_STREAM_LEGACY). As an argument stream=, None stands for the current
    stream instead, which a `with` block may have changed.
    """

    @staticmethod
    def __cuda_stream__() -> tuple[int, int]:
        """(version of the protocol by which libraries share streams, handle): CU_STREAM_LEGACY is 1."""
        return 0, 1

    def __repr__(self) -> str:
        return "pycuda.driver.LEGACY_DEFAULT_STREAM"


LEGACY_DEFAULT_STREAM = _DefaultStream()


@documented_init
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
