"""The inner loops; nothing here knows the rest of the package."""

from inlaid.errors import SettingError
from inlaid.memory import address_space_left

ADDRESS_SPACE = 500_000_000
"""Bytes of address space that the compiler and its libraries take. With less they end the process in their
own ways, without an error that could be caught."""


def check_address_space() -> None:
    """Raise SettingError if the limits of this process leave too little to load the kernels."""
    left = address_space_left()
    if left < ADDRESS_SPACE:
        raise SettingError(
            "The kernels need about {needed} MB of address space, and the limits of this process leave "
            "{left} MB. Raise them: `ulimit -v unlimited; ulimit -d unlimited`.",
            needed=ADDRESS_SPACE // 1_000_000,
            left=left // 1_000_000,
        )


check_address_space()
