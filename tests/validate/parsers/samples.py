# ruff: noqa: E501 -- tools print lines of any length
"""Small outputs of each shape that the parsers know, written for these tests; also what the mutations start from."""

ROCMINFO = """\x1b[37mROCk module version 6.14.1 is loaded\x1b[0m
=====================
HSA System Attributes
=====================
Runtime Version:         1.18
Runtime Ext Version:     1.11
XNACK enabled:           NO
Anything New:            7
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    Some Processor 9000
  Uuid:                    CPU-XX
  Marketing Name:          Shared Name
  Device Type:             CPU
  BDFID:                   0
*******
Agent 17
*******
  Name:                    gfx942
  Uuid:                    GPU-00112233445566ff
  Marketing Name:          Shared Name
  Node:                    16
  Device Type:             GPU
  Cache Info:
    L1:                      32(0x20) KB
  Chip ID:                 29857(0x74a1)
  Max Clock Freq. (MHz):   2100
  BDFID:                   49920
  Domain:                  1
  Compute Unit:            304
  Memory Properties:
  Packet Processor uCode:: 138
  A Key Of Tomorrow:       yes
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    201310208(0xbffc000) KB
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx9-generic:sramecc+:xnack-
*** Done ***
"""
ROCMINFO_INSIDE = """  Marketing Name:          Integrated
  Uuid:                    GPU-ffffffffffffffff
  Max Clock Freq. (MHz):   2900
  Memory Properties:       APU
  Wavefront Size:          32(0x20)
[...]

  Name:                    gfx1100
  Device Type:             GPU
"""
ROCMINFO_NO_DEVICE = """ROCk module is loaded
Unable to open /dev/kfd read-write: Operation not permitted
somebody is member of render group
"""

ROCM_SMI_OLD = """{"card1": {"GPU ID": "0x740c", "Average Graphics Package Power (W)": "N/A (Secondary die)",
"GPU memory use (%)": "3", "PCI Bus": "0000:32:00.0"},
"card0": {"GPU ID": "0x740c", "Card series": "Instinct", "Card model": "0x0b0c", "Temperature (Sensor edge) (c)": "41.0",
"Average Graphics Package Power (W)": "89.0", "Max Graphics Package Power (W)": "560.0", "sclk clock speed:": "(300Mhz)",
"VRAM Total Memory (B)": "68702699520", "(Topology) Numa Node": "4294967295", "PCI Bus": "0000:31:00.0"},
"system": {"Driver version": "5.18.13", "PID77": "a, b, 2, 4096, 0, 11",
"(Topology) Weight between DRM devices 0 and 1": "15", "(Topology) Hops between DRM devices 0 and 1": "1",
"(Topology) Link type between DRM devices 0 and 1": "XGMI", "Something else": "kept"}}
"""
ROCM_SMI_NEW = """WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

{"card0": {"Device ID": "0x7550", "Card Series": "Radeon of Today", "GFX Version": "gfx1201", "Node ID": "1",
"Average Graphics Package Power (W)": "N/A", "Current Socket Graphics Package Power (W)": "17.5", "GPU use (%)": "100",
"Temperature (Sensor edge) (C)": "39.0", "Temperature (Sensor junction) (C)": "41.0", "mclk clock speed:": "(96Mhz)",
"VRAM Total Used Memory (B)": "9518669824", "Subsystem ID": "-0x7fe3", "Voltage (mV)": "862"}}
"""
ROCM_SMI_CSV = """device,Average Graphics Package Power (W),Current Socket Graphics Package Power (W),Card Series,GFX Version
card0,17.0,N/A,Radeon One,gfx1100
card10,N/A,18.0,"Radeon, Two",gfx1101
"""
ROCM_SMI_2 = """========================ROCm System Management Interface========================
GPU  Temp   AvgPwr  SCLK    MCLK     Fan    Perf  PwrCap  VRAM%  GPU%
0    42.0c  39.02W  600Mhz  2700Mhz  None%  auto  N/A       5%   0%
1    50.0c  89.0W   27Mhz   1249Mhz  29.8%  auto  315.0W    3%   12%
================================================================================
GPU  DID   GFX RAS  SDMA RAS  UMC RAS  VBIOS            BUS
0    164e  N/A      N/A       N/A      102-INTEGRATED-1 0000:12:00.0
1    744c  N/A      N/A       N/A      115-DISCRETE-02  0000:03:00.0
"""
ROCM_SMI_5 = """================================= Concise Info =================================
GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
0    37.0c           38.0W   300Mhz  1200Mhz  0%   auto  290.0W    1%   95%
"""
ROCM_SMI_6_0 = """=================================================== Concise Info ======================================
Device  [Model : Revision]    Temp        Power     Partitions      SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
        Name (20 chars)       (Junction)  (Socket)  (Mem, Compute)
=======================================================================================================
0       [0x74a1 : 0x00]       45.0°C      173.0W    NPS1, SPX       132Mhz  900Mhz  0%   auto  750.0W    0%   0%
        Instinct of Six
"""
ROCM_SMI_6_2 = """====================================================== Concise Info ===================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%

              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
=======================================================================================================
0       2     0x74a1,   18421  44.0Â°C      151.0W    NPS4, CPX, 0        132Mhz  900Mhz  0%   auto  750.0W  7%     2%

1       3     N/A,      48116  N/A         N/A       N/A, N/A, 1         N/A     N/A     0%   n/a   N/A     2%     N/A
"""
ROCM_SMI_VALUES = """ROCM-SMI version: 3.0.0+abc
Driver version: 6.7.0
=========================================== ID ===========================================
GPU[0]\t\t: Device ID: 0x74a1
GPU[0]\t\t: sclk clock level: S: (137Mhz)
GPU[0]\t\t: Average Graphics Package Power (W): 237.0
GPU[0]\t\t: Accumulated Energy (uJ): 2500000.0
GPU[0]\t\t: get_volt_metric, Not supported on the given system
GPU[1]\t\t: Average Graphics Package Power (W): N/A (Secondary die)
GPU[1]\t\t: PCI Bus: 0000:26:00.0
GPU[1]\t\t: (Topology) Numa Node: 3
================================ Weight between two GPUs =================================
       GPU0         GPU1
GPU0   0            72
GPU1   72           0
================================= Hops between two GPUs ==================================
       GPU0         GPU1
GPU0   0            3
GPU1   3            0
=============================== Link Type between two GPUs ===============================
       GPU0         GPU1
GPU0   0            PCIE
GPU1   PCIE         0
===================================== KFD Processes ======================================
KFD process information:
PID     PROCESS NAME    GPU(s)  VRAM USED       SDMA USED       CU OCCUPANCY
3722222 my train job 2  1       177386942464    0               4
55      UNKNOWN         0       UNKNOWN         UNKNOWN         UNKNOWN
"""
ROCM_SMI_NONE = "WARNING: No JSON data to report\n"

AMD_SMI_6 = """[{"gpu": 1, "bdf": "0000:C3:00.0", "usage": "N/A",
"power": {"socket_power": {"value": 158, "unit": "W"}, "gfx_voltage": "N/A"},
"temperature": {"edge": "N/A", "hotspot": {"value": 45, "unit": "C"}, "mem": {"value": 38, "unit": "C"}},
"clock": {"gfx_0": {"clk": {"value": 2102, "unit": "MHz"}}, "mem_0": {"clk": {"value": 900, "unit": "MHz"}}},
"mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}},
"energy": {"total_energy_consumption": {"value": 14.5, "unit": "kJ"}},
"process_list": [{"process_info": {"name": "N/A", "pid": 12, "mem_usage": {"value": 2, "unit": "MB"}}}],
"links": [{"gpu": 1, "bdf": "0000:C3:00.0", "weight": 0, "link_type": "SELF", "num_hops": 0},
{"gpu": 0, "bdf": "0000:83:00.0", "weight": 15, "link_status": "ENABLED", "link_type": "XGMI", "num_hops": 1}],
"of_tomorrow": {"x": 1}}]
"""
AMD_SMI_7 = """WARNING: User is missing the following required groups: render. Please add user to these groups.
{"gpu_data": [{"gpu": 0, "asic": {"market_name": "Instinct", "target_graphics_version": "gfx950",
"num_compute_units": 256, "device_id": "0x75a3"}, "bus": {"bdf": "0000:05:00.0"}, "vram": {"size": {"value": 294896}},
"limit": {"ppt0": {"max_power_limit": {"value": 1400, "unit": "W"}, "socket_power_limit": {"value": 1000, "unit": "W"}}},
"driver": {"NAME": "amdgpu", "VERSION": "6.16.6"}, "partition": {"accelerator_partition": "SPX",
"memory_partition": "NPS1", "partition_id": 0}, "numa": {"node": 1}, "ifwi": {"part_number": "113-X"}}]}
[{"gpu": 0, "usage": {"gfx_activity": {"value": 42, "unit": "%"}}, "process_list": "No running processes detected"}]
"""
AMD_SMI_NEXT = (
    """{"schema": 3, "devices": [{"gpu": 0, "power": {"socket_power": 99}}, {"gpu": 1}], "cpu_data": [{"cpu": 0}]}"""
)
AMD_SMI_VERSION = """[{"tool": "AMDSMI Tool", "version": "26.2.0", "amdsmi_library_version": "26.2.0", "rocm_version": "7.1.0",
"amdgpu_version": "6.16.6", "amd_hsmp_driver_version": "N/A"}]
"""
AMD_SMI_CUT = """'CTRL' + 'C' to stop watching output:
[
    {
        "timestamp": 1769014607,
        "gpu": 3,
        "bdf": "0001:01:00.0",
        "links": [
            {"gpu": 0, "bdf": "0002:01:00.0", "weight": 15, "num_hops": 1,},
            ...
        ],
        "power": {
            "socket_power": {
                "value": 11,
                "unit": "W"
"""
AMD_SMI_MIDDLE = """        "fclk_0": {
            "clk": {
                "value": 1000,
                "unit": "MHz"
            },
            "deep_sleep": "DISABLED"
        },
"""
AMD_SMI_TEXT = """$ amd-smi static
CPU: 0
    SMU:
        FW_VERSION: 85.90.0
GPU: 0
    ASIC:
        MARKET_NAME: Instinct
        DEVICE_ID: 0x74a0
        NUM_COMPUTE_UNITS: 228
        TARGET_GRAPHICS_VERSION: gfx942
    BUS:
        BDF: 0000:01:00.0
    LIMIT:
        MAX_POWER: 600 W
        SOCKET_POWER: 550 W
    VRAM:
        SIZE: 96432 MB
        MAX_BANDWIDTH: 5325 GB/s
    NUMA:
        NODE: 0
        CPU AFFINITY:
            0xffffff
    POLICIES:
        POLICY_ID: 0
        POLICY_ID: 1
...

$ amd-smi metric
GPU: 0
    USAGE:
        GFX_ACTIVITY: 7 %
        JPEG_ACTIVITY: [1 %, N/A,
            N/A, N/A]
    POWER:
        SOCKET_POWER: 140 W
    TEMPERATURE:
        EDGE: N/A
        HOTSPOT: 37 °C
GPU: 1
    PROCESS_INFO:
        NAME: train
        PID: 99
        MEMORY_USAGE:
            VRAM_MEM: 1.5 GB
"""
AMD_SMI_TABLE = """+------------------------------------------------------------------------------+
| AMD-SMI 26.0.0+eaa54ecc      amdgpu version: 6.12.12  ROCm version: 7.0.0    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:0c:00.0    Instinct of a Table | 13 %     60 °C   0           734/750 W |
|   2       5       2        SPX/NPS1 | 98 %       N/A          4976/196592 MB |
+-------------------------------------+----------------------------------------+
| Processes:                                                                   |
|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |
|==============================================================================|
|    2    2427396  my job                 2.0 MB    2.0 GB     2.5 GB    0.0 % |
+------------------------------------------------------------------------------+
"""
AMD_SMI_LINE = "AMDSMI Tool: 25.4.2+aca | AMDSMI Library version: 25.4.0 | ROCm version: N/A | amdgpu version: 6.10.5\n"
AMD_SMI_TOPOLOGY = """WEIGHT TABLE:
             0000:c1:00.0 0000:c6:00.0
0000:c1:00.0 0            30
0000:c6:00.0 30           0

HOPS TABLE:
             0000:c1:00.0 0000:c6:00.0
0000:c1:00.0 0            1
0000:c6:00.0 1
"""

KFD = """### generation_id
2
### nodes/0/properties
cpu_cores_count 16
simd_count 0
### nodes/1/properties
simd_count 152
simd_per_cu 4
location_id 9985
domain 1
drm_render_minor 137
gfx_target_version 90402
device_id 29857
num_xcc 1
max_engine_clk_fcompute 2100
unique_id 17239726724163961384
of_tomorrow 5
### nodes/1/mem_banks/0/properties
heap_type 1
size_in_bytes 51539607552
### nodes/1/mem_banks/0/used_memory
3149352960
### nodes/1/io_links/0/properties
type 11
node_from 1
node_to 2
weight 15
max_bandwidth 64000
### nodes/1/p2p_links/0/properties
type 2
node_from 1
node_to 0
weight 20
"""
KFD_FIRMWARE = (
    "MEC feature version: 33, firmware version: 0x00000160\nSDMA0 feature version: 40, firmware version: 0x197\n"
)

DRM = """### card1/device/vendor
0x1002
### card1/device/device
0x73bf
### card1/device/uevent
DRIVER=amdgpu
PCI_ID=1002:73BF
PCI_SLOT_NAME=0000:0c:00.0
### card1/device/numa_node
-1
### card1/device/mem_info_vram_total
17163091968
### card1/device/current_link_speed
16.0 GT/s PCIe
### card1/device/pp_dpm_sclk
0: 500Mhz *
1: 2660Mhz
### card1/device/gpu_metrics
<binary 4 bytes hex>
78000103
### card1/device/hwmon/hwmon4/power1_average
36000000
### card1/device/hwmon/hwmon4/power1_cap
289000000
### card1/device/hwmon/hwmon4/temp1_input
47000
### card1/device/hwmon/hwmon4/temp1_label
edge
### card1/device/hwmon/hwmon4/temp2_input
51000
### card1/device/hwmon/hwmon4/temp2_label
junction
### card1/device/hwmon/hwmon4/in0_input
0
### card1/device/of_tomorrow
7
### card2/device/uevent
PCI_ID=8086:5917
PCI_SLOT_NAME=0000:00:02.0
"""
DRM_TTAR = """Path: fixtures/sys/class/drm/card0/device/vendor
Lines: 1
0x1002
Mode: 444
# ttar - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -
Path: fixtures/sys/class/drm/card0/device/product_name
Lines: 1

Mode: 444
# ttar - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -
Path: fixtures/sys/class/drm/card0/device/mem_info_vram_used
Lines: 1
1490378752
Mode: 444
"""
PM_INFO = (
    "GFX Clocks and Power:\n\t300 MHz (MCLK)\n\t214 MHz (SCLK)\n\t3.213 W (average GPU)\n\nGPU Temperature: 24 C\n"
)

NVIDIA_CSV = """index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], power.draw [W], power.limit [W], utilization.gpu [%]
0, NVIDIA X, GPU-1, 00000000:00:06.0, 580.1, 143771 MiB, 122.94 W, [N/A], 17 %
"""
NVIDIA_XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
  <driver_version>580.1</driver_version>
  <cuda_version>13.0</cuda_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:AF:00.0">
    <product_name>NVIDIA &amp; X</product_name>
    <fb_memory_usage><total>100 MiB</total><used>1 MiB</used></fb_memory_usage>
    <temperature><gpu_temp>38 C</gpu_temp></temperature>
    <gpu_power_readings><instant_power_draw>N/A</instant_power_draw><power_draw>99.50 W</power_draw></gpu_power_readings>
    <processes><process_info><pid>5</pid><process_name>job</process_name><used_memory>1 MiB</used_memory></process_info></processes>
  </gpu>
"""
NVIDIA_TABLE = """+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.1                  Driver Version: 580.1          CUDA Version: 13.0     |
|-----------------------------------------+------------------------+----------------------+
|   3  NVIDIA X                       On  |   00000000:5E:00.0 Off |                    0 |
| N/A   38C    P0            195W /  700W |       2MiB / 143771MiB |     17%      Default |
+-----------------------------------------+------------------------+----------------------+
"""
NVIDIA_TOPOLOGY = (
    "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\x1b[0m\nGPU0\t X \tNV18\t0-15\t0\nGPU1\tNV18\t X \t16-31\tN/A\n"
)

ROCPROF_STATS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"k<int, 4>(float*)",4,2000,500,99.5\n'
ROCPROFV3_STATS = (
    'head kernel_stats.csv\n"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
    '"say ""k"", twice",2,3000,1500.5,2.920e-03,1000,2000,0.00000000e+00\n'
)
ROCPROFV3_TRACE = (
    '"Guid","Kind","Agent_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n'
    '"00-1","KERNEL_DISPATCH","Agent 4",7,"k(int, int)",1552082594648838,1552082594660478\n'
)
ROCPROFV3_TRACE_6 = (
    '"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End\n_Timestamp"\n"KERNEL_DISPATCH",8,"k",10,20\n...\n'
)
ROCPROFV3_COUNTERS = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Kernel_Name","Counter_Name","Counter_Value"\n'
    '1,1,"Agent 1","k","SQ_WAVES",16384.000000\n2,2,"Agent 1","k","SQ_WAVES",16.5\n'
)
ROCPROFV3_AGENTS = (
    '"Node_Id","Agent_Type","Name","Product_Name","Cu_Count","Max_Engine_Clk_Fcompute"\n'
    '0,"CPU","Processor","Processor",0,0\n4,"GPU","gfx942","Instinct",304,2100\n'
)
ROCPROFV3_SUMMARY = """ROCPROFV3 KERNEL_DISPATCH SUMMARY:

|   NAME   |     DOMAIN      |  CALLS  | DURATION (nsec) | AVERAGE (nsec)  | PERCENT (INC) |   MIN (nsec)    |
|----------|-----------------|---------|-----------------|-----------------|---------------|-----------------|
| rhs      | KERNEL_DISPATCH |    2000 |        15955440 |       7.978e+03 |     31.250000 |            7171 |
"""
ROCPROF_JSON = """{ "traceEvents":[{}
,{"args":{"name":"GPU0"},"ph":"M","pid":6,"name":"process_name"}
,{"ph":"X","name":"Copy","args":{"BeginNs":"773902396463126","dev-id":"2","DurationNs":"8480"}}
]}
"""
ROCPROFV3_LIST = "GPU     :\t0\nName    :\tgfx90a\nCounter_Name        :\tSQ_WAVES\nDescription         :\tx\n"

PMC_PERF = (
    "Dispatch_ID,GPU_ID,Kernel_Name,TCC_HIT[0],TCC_HIT[1],TCC_HIT_sum,TCC_MISS_sum,Start_Timestamp,End_Timestamp\n"
    '0,2,"v(double*, int)",1,2,30.0,10.0,1000,21000\n'
)
SYSINFO = (
    "workload_name,hostname,sbios,rocm_version,gpu_model,gpu_arch,cu_per_gpu,max_sclk,hbm_bw,compute_partition\n"
    'w,node-of-somebody,"Maker, Inc.",6.1.2-110,MI300A_A1,gfx942,228,2100,5324.8,SPX\n'
)
ROOFLINE = "device,HBMBw,HBMBwLow,FP64Flops\n0,1388.5,1,20000\n"
ANALYSIS = """WARNING Couldn't load roofline.csv.
0. Top Stats
0.1 Top Kernels
╒════╤════════════════╤═════════╤═════════════╕
│    │ Kernel_Name    │   Count │     Sum(ns) │
╞════╪════════════════╪═════════╪═════════════╡
│  0 │ void bench<floa │    3.00 │ 10122632.00 │
│    │ t, 2u>         │         │             │
╘════╧════════════════╧═════════╧═════════════╛
10.1 Overall Instruction Mix
╒═════════════╤══════════╤════════╕
│ Metric_ID   │ Metric   │    Avg │
╞═════════════╪══════════╪════════╡
│ 10.1.0      │ VALU     │ 180.31 │
╘═════════════╧══════════╧════════╛
"""
PROFILE_LOG = (
    "Omniperf version: 2.0.0\nTarget: MI300X_A1\n[profiling] Current input file: x\n   |-> [rocprof] - SQ_WAVES\n"
)

RCCL_TESTS = """rccl-tests: Version develop:83d38d9
# Using devices
#  Rank  0 Group  0 Pid  37300 on  node-of-somebody device  0 [0000:05:00] Instinct
#  Rank  1 Group  0 Pid  37300 on  node-of-somebody device  1 [0x33] Instinct
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       2097152     float     sum      -1    91.50   92.08  161.14      0    94.94   88.36  154.63      3
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 157.9
"""
RCCL_TESTS_OLD = """#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
        1024           256     float     sum    10.00    0.10    0.20    N/A    11.00    0.09    0.18    N/A
"""
RCCL_LOG = """host-of-somebody:929:1025 [2] NCCL INFO Channel 00 : 2[43000] -> 1[26000] via P2P/IPC
host-of-somebody:929:1025 [2] NCCL INFO Channel 01/0 : 2[43000] -> 1[26000] via P2P/IPC
host-of-somebody:929:1025 [2] NCCL INFO NCCL_NTHREADS set by environment to 256.
host-of-somebody:926:1029 [3] NCCL INFO comm 0x2a rank 3 nranks 4 cudaDev 3 busId 63000 used 6 bytes - Init COMPLETE
host-of-somebody:926:1029 [0] NCCL INFO Trees [0] 2/-1/-1->0->1 [1] 1/-1/-1->0->2 comm 0xa nRanks 04 busId ce000
host-of-somebody:1:1 [0] /x/init.cc:178 NCCL WARN Missing "iommu=pt" from kernel command line
RCCL version : 2.22.3-HEAD:7d8d67c+
"""
RCCL_TOPOLOGY = """<system version="2">
  <cpu numaid="1" arch="x86_64">
    <pci busid="0000:82:00.0" class="0x120000" device="0x74a0" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="228" gcn="942" rank="0"><xgmi target="0000:c2:00.0" count="2"/></gpu>
    </pci>
    <pci busid="0000:c1:00.0" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:c2:00.0" device="0x740f" link_speed="32.0 GT/s" link_width="16">
        <gpu dev="1" sm="104" gcn="910" rank="1"><xgmi target="0000:82:00.0" count="2"/></gpu>
"""

HIPCONFIG_6 = (
    "HIP version: 6.2.41133-dd7f95766\n\n==hipconfig\nHIP_PATH           :/opt/rocm-6.2.0\nHIP_PLATFORM       :amd\n"
)
HIPCONFIG_4 = "HIP version  : 4.2.21155-37cb3a34\n\n== hipconfig\nHIP_PATH     : /opt/hip\nclang version 12.0.0 (x)\n"
COLLECT_ENV = """Collecting environment information...
PyTorch version: 2.4.1+rocm6.1
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.1.40091-a8dbc0c19
OS: Some Linux (x86_64)
CMake version: version 3.26.4
Is CUDA available: True
GPU models and configuration: GPU 0: Instinct (gfx942:sramecc+:xnack-)
GPU 1: Radeon
Nvidia driver version: Could not collect
MIOpen runtime version: 3.1.0
[pip3] torch==2.4.1+rocm6.1
[conda] No relevant packages
"""
COLLECT_ENV_CRASH = (
    "Collecting environment information...\nTraceback (most recent call last):\nIndexError: list index out of range\n"
)
MIOPEN = """MIOpenDriver conv -F 1
MIOpen(HIP): Info [get_device_name] Raw device name: gfx90a:sramecc-:xnack-
MIOpen(HIP): Info [] MIOPEN_FIND_MODE = DYNAMIC_HYBRID(5)
Timestamp: 2025-12-23; Host Name: node-of-somebody; Operating System: Linux 6.8.0; ROCm: 7.1.25424; AMDGPU Driver: 6.12.12
MIOpen(HIP): Info [AmdRocmMetadataVersionDetect] ROCm MD version AMDHSA_COv3, HIP version 7.1.25424, MIOpen version 3.5.1.d
MIOpen(HIP): Info [FindSolutionImpl] ConvAsm1x1U (not searchable)
MIOpen(HIP): Warning [FindSolutionImpl] Perf Db: load skipped: X, enforce: SEARCH_DB_UPDATE(4)
MIOpen(HIP): Info [LogConvolutionExecution] [E] Problem="conv -n 1" Solver="ConvW" Config="N/A" Time=0.25
"""
DMESG = """[    1.000000] usb 1-1: New USB device of somebody
[    3.1] Linux version 6.8.0-31 (x)
[    4.314385] amdgpu 0000:2f:00.0: amdgpu: initializing kernel modesetting (IP DISCOVERY 0x1002:0x744C 0x148C:0x2422 0xC8).
[    4.414385] amdgpu: ATOM BIOS: 113-X-1
[    4.500000] amdgpu 0000:2f:00.0: amdgpu: VRAM: 16368M 0x0000008000000000 - 0x00000083FEFFFFFF (16368M used)
[    4.600000] kfd kfd: amdgpu: added device 1002:744c
kern  :err   : 2026-01-07T10:02:00,123456-06:00 amdgpu 0000:2f:00.0: {14}poison is consumed by client 12, kick off gpu reset flow
[    9.500000] amdgpu 0000:2f:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1
[    9.600000] kfd kfd: amdgpu: TAHITI  not supported in kfd
"""
LSMOD = "Module                  Size  Used by\namdgpu               8261632  3\nttm                    73728  2 amdgpu,drm_ttm_helper\n"
TARGETS = "gfx000\ngfx000\ngfx90a\ngfx942\n"
BANDWIDTH = """RocmBandwidthTest Version: 2.6.0
          Device: 0,  Some Processor
          Device: 1,  Instinct,  GPU-d40e8a540e55ebe2,  0c:0.0

          Unidirectional copy peak bandwidth GB/s

          D/D       0           1

          0         N/A         14.250

          1         13.5        N/A
"""
HIP_BANDWIDTH = """Device:Device 738c Mem=32.0GB #CUs=120 Freq=1502Mhz  MallocMode=pinned
   D2H_Bandwidth_pinned         1kB       GB/sec        0.5  0.5  0.0  0.25  0.75
   D2H_Time_pinned              1kB           ms        2.0  2.0  0.0  1.0  4.0
"""
TRANSFERBENCH = " Transfer 00      |  33.5 GB/s |    2.5 ms |     67108864 bytes | G0 -> GPU00:004 -> G1\n"
TRANSFERBENCH_TABLE = (
    " SRC+EXE\\DST    CPU 00    GPU 00\n  CPU 00  ->     15.5     9.5\n  CPU 00 min     14.0     9.25\n"
)

#: By the tool's name in the catalogue.
SAMPLES = {
    "amd-smi": [
        AMD_SMI_6, AMD_SMI_7, AMD_SMI_NEXT, AMD_SMI_VERSION, AMD_SMI_CUT, AMD_SMI_MIDDLE, AMD_SMI_TEXT, AMD_SMI_TABLE,
        AMD_SMI_LINE, AMD_SMI_TOPOLOGY,
    ],
    "collect_env": [COLLECT_ENV, COLLECT_ENV_CRASH],
    "dmesg": [DMESG],
    "hipconfig": [HIPCONFIG_6, HIPCONFIG_4],
    "lsmod": [LSMOD],
    "miopen": [MIOPEN],
    "nvidia-smi": [NVIDIA_CSV, NVIDIA_XML, NVIDIA_TABLE, NVIDIA_TOPOLOGY],
    "rccl": [RCCL_TESTS, RCCL_TESTS_OLD, RCCL_LOG, RCCL_TOPOLOGY],
    "rocm-bandwidth-test": [BANDWIDTH, HIP_BANDWIDTH, TRANSFERBENCH, TRANSFERBENCH_TABLE],
    "rocm-smi": [
        ROCM_SMI_OLD, ROCM_SMI_NEW, ROCM_SMI_CSV, ROCM_SMI_2, ROCM_SMI_5, ROCM_SMI_6_0, ROCM_SMI_6_2, ROCM_SMI_VALUES,
        ROCM_SMI_NONE,
    ],
    "rocm_agent_enumerator": [TARGETS],
    "rocminfo": [ROCMINFO, ROCMINFO_INSIDE, ROCMINFO_NO_DEVICE],
    "rocprof": [
        ROCPROF_STATS, ROCPROFV3_STATS, ROCPROFV3_TRACE, ROCPROFV3_TRACE_6, ROCPROFV3_COUNTERS, ROCPROFV3_AGENTS,
        ROCPROFV3_SUMMARY, ROCPROF_JSON, ROCPROFV3_LIST,
    ],
    "rocprof-compute": [PMC_PERF, SYSINFO, ROOFLINE, ANALYSIS, PROFILE_LOG],
    "sysfs-drm": [DRM, DRM_TTAR, PM_INFO],
    "sysfs-kfd": [KFD, KFD_FIRMWARE],
}  # fmt: skip
