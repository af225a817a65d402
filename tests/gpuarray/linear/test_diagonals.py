"""fill_diagonal, compared with NumPy."""

import math

import numpy as np
import pytest
from against import same

pytestmark = pytest.mark.usefixtures("primary_context")


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (3, 7), (3, 3, 3), (0, 3)])
def test_fill_diagonal(shape, wrap):
    host = np.arange(float(math.prod(shape))).reshape(shape)
    same(lambda a: (np.fill_diagonal(a, 9, wrap), a), host)
    same(lambda a: (np.fill_diagonal(a.T, [1, 2], wrap), a), host)
