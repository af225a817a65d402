"""The examples in the docstrings of pycuda.mpi."""


def test_examples_in_docstrings(mpi_run):
    mpi_run(
        2,
        """
        import doctest
        import pycuda.mpi

        failed, attempted = doctest.testmod(pycuda.mpi)
        assert attempted and not failed
        """,
    )
