"""What ``similar()`` needs from outside: the port through which text becomes vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Embedder(Protocol):
    """Turns texts into vectors whose cosine tells how alike they are."""

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one row per text; rows need not have unit length."""
