"""A lock's output folder while something is made in it: one maker at a time, nothing half-written left behind."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pins.file_lock import alone
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PREFIX = ".tmp-"


@contextmanager
def held(out: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the folder `out`, waiting while another build does; what builds that died left in it is removed.

    The kernel lets go when the holder dies, however it dies.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with alone(out / ".lock", on_wait=lambda: tell(f"waiting for another build in {out}")):
            for stale in left(out):
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
            yield
    except OSError as error:
        raise KitError(f"cannot work in {out}: {error}", "make room there, or set KIT_OUT=DIR") from error


def left(out: Path) -> list[Path]:
    """Return what is half made in `out`: by who holds it now, else by one that was killed."""
    return list(out.glob(PREFIX + "*"))


@contextmanager
def temporary(out: Path) -> Iterator[Path]:
    """Yield a folder in `out` for large files that come and go; removed whatever happens."""
    with tempfile.TemporaryDirectory(dir=out, prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
