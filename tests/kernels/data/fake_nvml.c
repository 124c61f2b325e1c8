/* A stand-in for libnvidia-ml.so.1 at its C boundary: two whole devices, and one split into two MIG parts.
 * FAKE_NVML_BROKEN: it cannot start. FAKE_NVML_COUNT: only so many devices. Functions and structures follow nvml.h. */
#include <string.h>
#include <stdlib.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct { char legacy[16]; unsigned int domain, bus, device, id, subsystem; char text[32]; } pci_t;
typedef struct { unsigned int start, size; } placement_t;
typedef struct { void *device; unsigned int id, profile; placement_t placement; } instance_t;
typedef struct {
    unsigned int multiprocessors, copy, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long megabytes;
} attributes_t;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } process_t;

static long handle(void *device) { return (long)device; }

int nvmlInit_v2(void) { return getenv("FAKE_NVML_BROKEN") ? 9 : 0; }
int nvmlInitWithFlags(unsigned int flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "Fake error"; }
int nvmlDeviceGetCount_v2(unsigned int *count) {
    const char *wanted = getenv("FAKE_NVML_COUNT");
    *count = wanted ? (unsigned int)atoi(wanted) : 3;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) { *device = (void *)(long)(index + 1); return 0; }
int nvmlDeviceGetMigMode(void *device, unsigned int *current, unsigned int *pending) {
    if (handle(device) == 2) return 3;
    *current = *pending = handle(device) == 3;
    return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned int *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned int index, void **part) {
    if (index > 1) return 6;
    *part = (void *)(long)(30 + index);
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned int length) {
    strncpy(text, handle(device) == 1 ? "GPU-one" : handle(device) == 2 ? "GPU-two" : handle(device) == 30 ? "MIG-a" : "MIG-b", length);
    return 0;
}
int nvmlDeviceGetName(void *device, char *text, unsigned int length) {
    strncpy(text, handle(device) >= 30 ? "NVIDIA H100 80GB HBM3 MIG 1g.10gb" : "NVIDIA H100 80GB HBM3", length);
    return 0;
}
int nvmlDeviceGetMinorNumber(void *device, unsigned int *minor) { *minor = handle(device) - 1; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    (void)device;
    *major = 9;
    *minor = 0;
    return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13010; return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned int length) { strncpy(text, "580.065.06", length); return 0; }
int nvmlDeviceGetArchitecture(void *device, unsigned int *architecture) { (void)device; *architecture = 9; return 0; }
int nvmlDeviceGetBrand(void *device, unsigned int *brand) { (void)device; *brand = 14; return 0; }
int nvmlDeviceGetPciInfo_v3(void *device, pci_t *pci) {
    (void)device;
    strcpy(pci->text, "0000FFFF:FF:1F.0");
    return 0;
}
int nvmlDeviceGetGpuInstanceId(void *part, unsigned int *id) { *id = handle(part) - 29; return 0; }
int nvmlDeviceGetGpuInstanceById(void *device, unsigned int id, void **instance) {
    (void)device;
    *instance = (void *)(long)id;
    return 0;
}
int nvmlGpuInstanceGetInfo(void *instance, instance_t *info) {
    info->id = handle(instance);
    info->profile = 19;
    info->placement.start = handle(instance) - 1;
    info->placement.size = 1;
    return 0;
}
int nvmlDeviceGetAttributes_v2(void *part, attributes_t *facts) {
    (void)part;
    *facts = (attributes_t){14, 1, 1, 0, 1, 0, 1, 1, 9856};
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, memory_t *memory) {
    if (handle(device) == 2) return 4;
    memory->total = 80ULL << 30;
    memory->used = 9ULL << 30;
    memory->free = memory->total - memory->used;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, utilization_t *rates) {
    if (handle(device) >= 30) return 3;
    rates->gpu = 87;
    rates->memory = 40;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, process_t *table) {
    *count = 1;
    table[0].pid = 4242;
    table[0].used = 2ULL << 30;
    return 0;
}
