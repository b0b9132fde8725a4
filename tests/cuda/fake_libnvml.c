/* A libnvidia-ml without GPUs, for test_gpu_binding.py: two of them, with their UUIDs. Signatures are those of nvml.h. */
#include <stdio.h>

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { return *device = (char *)0 + index + 1, 0; }
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    return snprintf(uuid, length, "GPU-%d0000000-fake", (int)((char *)device - (char *)0)), 0;
}
