"""As much of torch as a process of the kit touches around a case: no tensors, a CPU only."""

from types import SimpleNamespace

__version__ = "0.0.fake"
version = SimpleNamespace(hip=None, cuda=None, git_version=None)
float32 = float
cuda = SimpleNamespace(is_available=lambda: False, is_initialized=lambda: False)
_matmul = SimpleNamespace(allow_tf32=False)
backends = SimpleNamespace(
    cuda=SimpleNamespace(matmul=_matmul),
    cudnn=SimpleNamespace(allow_tf32=False, enabled=False),
    mkldnn=SimpleNamespace(is_available=lambda: False),
    mkl=SimpleNamespace(is_available=lambda: False),
)


def device(name):
    return SimpleNamespace(type=name)


class Generator:
    def __init__(self, device=None):
        self.device = device

    def manual_seed(self, seed):
        self.seed = seed
        return self


def manual_seed(seed):
    return seed


def get_num_threads():
    return 1
