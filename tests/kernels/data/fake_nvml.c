/* A stand-in for libnvidia-ml.so.1 at its C boundary: two whole devices, and one split into two MIG parts. */
#include <string.h>
#include <stdlib.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } process_t;

static long handle(void *device) { return (long)device; }

int nvmlInit_v2(void) { return getenv("FAKE_NVML_BROKEN") ? 999 : 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 3; return 0; }
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
int nvmlDeviceGetName(void *device, char *text, unsigned int length) { strncpy(text, "Fake H100", length); return 0; }
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
