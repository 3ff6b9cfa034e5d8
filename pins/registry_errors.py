"""What goes wrong between here and a registry, each in one message with one remedy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

HINT_REACH = "check its address, and the network and proxy of this host; ./kit mirror keeps copies elsewhere"
NO_REGISTRY = "check that this is the address of a registry"


class RegistryError(KitError):
    """A registry did not do what it was asked for. `status` of its answer, 0 when there was none; `codes` in it."""

    def __init__(self, message: str, hint: str, *, status: int = 0, codes: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.status, self.codes = status, codes


def refusal(registry: str, what: str, status: int, codes: tuple[str, ...], words: str) -> RegistryError:
    """Return the error for an answer of this status, with the registry's own codes and words."""
    said = f"HTTP {status}" + (f" ({words})" if words else "")
    hint = NO_REGISTRY
    if status in {401, 403}:
        hint = f"check its name, or docker login {registry}: what one may not see looks the same"
    elif status == 404:
        hint = "check its name and digest or tag"
    elif status == 429:
        hint = f"wait for a while, or docker login {registry}: who has a login is let in more often"
    elif status >= 500:
        hint = "try again later: it is the registry's own trouble"
    return RegistryError(f"cannot {what}: {registry} answers {said}", hint, status=status, codes=codes)


@contextmanager
def explained(registry: str, what: str) -> Iterator[None]:
    """Turn what requests, urllib3 and sockets raise into RegistryError: no foreign exception passes."""
    import urllib3
    from requests import exceptions

    try:
        yield
    except exceptions.SSLError as error:
        raise RegistryError(
            f"cannot {what}: {registry} has no certificate that this host trusts: {_words(error)}",
            "add its CA to this host's certificates, or set REQUESTS_CA_BUNDLE=FILE; only a registry on this "
            "machine is asked over http",
        ) from error
    except exceptions.ProxyError as error:
        raise RegistryError(f"cannot {what}: the proxy does not let us: {_words(error)}", HINT_REACH) from error
    except (urllib3.exceptions.ProtocolError, urllib3.exceptions.DecodeError) as error:
        raise RegistryError(f"cannot {what}: the answer of {registry} was cut off or garbled", HINT_REACH) from error
    except (exceptions.Timeout, urllib3.exceptions.ReadTimeoutError) as error:
        raise RegistryError(f"cannot {what}: {registry} does not answer in time", HINT_REACH) from error
    except (exceptions.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise RegistryError(f"cannot {what}: {registry} cannot be reached: {_words(error)}", HINT_REACH) from error


def _words(error: BaseException) -> str:
    """Return what is wrong at the bottom of an exception that wraps others."""
    for _ in range(10):
        error = error.__cause__ or error.__context__ or error
    return (str(error) or type(error).__name__)[:200]
