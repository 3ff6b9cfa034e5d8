"""Nothing is found in the commands of AMD's own current guides, in the forms that they have there."""

import pytest

from bundle.folklore import lint

#: install-on-linux how-to/docker; ai-ecosystem vLLM for 7.12 and 10.2; MI300X workload optimization; Megatron-LM and
#: JAX training; RCCL, rocprofiler-sdk, rocprofiler-compute and AMD SMI how-tos; as of 2026-11-30.
COMMANDS = [
    "docker run --device /dev/kfd --device /dev/dri --security-opt seccomp=unconfined <image>",
    "docker run --device /dev/kfd --device /dev/dri/renderD128 <image>",
    (
        "docker run -it --rm --network=host --group-add=video --ipc=host --cap-add=SYS_PTRACE --security-opt "
        "seccomp=unconfined --device /dev/kfd --device /dev/dri -v <path/to/your/models>:/app/models -e "
        'HF_HOME="/app/models" rocm/vllm:rocm7.12.0_gfx94X-dcgpu_ubuntu24.04_py3.12_pytorch_2.9.1_vllm_0.16.0 bash'
    ),
    (
        "docker run -it --device /dev/dri --device /dev/kfd --device /dev/infiniband --network host --ipc host "
        "--group-add video --cap-add SYS_PTRACE --security-opt seccomp=unconfined --privileged --shm-size 128G "
        "rocm/megatron-lm:v25.4"
    ),
    "docker run --runtime=amd -e AMD_VISIBLE_DEVICES=all rocm/rocm-terminal rocm-smi",
    "docker run --rm --device amd.com/gpu=all rocm/rocm-terminal amd-smi monitor",
    "docker pull rocm/pytorch:latest",
    "export HIP_FORCE_DEV_KERNARG=1",
    "export NCCL_MIN_NCHANNELS=112",
    "export PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=1",
    "export TORCH_NCCL_HIGH_PRIORITY=1 GPU_MAX_HW_QUEUES=2",
    "export MIOPEN_FIND_ENFORCE=3",
    "export HSA_OVERRIDE_CPU_AFFINITY_DEBUG=0 HSA_NO_SCRATCH_RECLAIM=1",
    "export HIPBLASLT_LOG_MASK=32 HIPBLASLT_LOG_FILE=a.log TENSILE_SOLUTION_SELECTION_METHOD=2",
    "HIPBLASLT_TUNING_OVERRIDE_FILE=tuning.txt python3 benchmark_throughput.py",
    "export NCCL_IB_GID_INDEX=3 NCCL_SOCKET_IFNAME=ens50f0np0 NCCL_CROSS_NIC=0 NCCL_PROTO=Simple RCCL_MSCCL_ENABLE=0",
    "mpirun -np 8 --bind-to numa -x NCCL_DEBUG=INFO -x HSA_FORCE_FINE_GRAIN_PCIE=1 ./all_reduce_perf -b 8 -e 16G -f 2",
    "sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'",
    "echo 1 > /proc/sys/vm/compact_memory",
    "sudo usermod -a -G render,video $LOGNAME",
    "rocprofv3 --kernel-trace --stats -d out -- ./app",
    "rocprofv3 --sys-trace --output-format pftrace -- python3 train.py",
    "rocprof --stats --hip-trace ./app",
    "rocprof-compute profile -n vcopy -- ./vcopy -n 1048576",
    "rocprof-compute analyze -p workloads/vcopy/MI300X_A1 -b 17 10.2",
    "amd-smi monitor -putm",
    "amd-smi set --gpu 0 --perf-determinism 1900",
    "amd-smi partition --memory --accelerator",
    "rocm-smi --showmeminfo vram",
    "rocm-smi --setperfdeterminism 1900",
    "rocminfo | grep -i 'Marketing Name'",
    "sudo apt install rocm-hip-sdk6.4.1 rocm-hip-sdk6.3.4",
    "pip3 install torch torchvision --index-url https://example.org/whl/rocm6.4",
]
PYTHON = """\
import torch
assert torch.cuda.is_available()
torch.backends.cudnn.benchmark = True
torch.backends.cuda.preferred_blas_library("hipblaslt")
print(torch.version.hip, torch.cuda.get_device_properties(0).gcnArchName)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_found_in_a_guide(command):
    page = f"# ROCm on AMD Instinct MI300X\n\nFor performance, run:\n\n```bash\n{command}\n```\n"

    assert lint.check(command, "shell") == []
    assert lint.check(page, "markdown") == []


def test_nothing_is_found_in_the_python_of_a_guide():
    assert lint.check(PYTHON, "python") == []
