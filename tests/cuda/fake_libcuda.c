/* A libcuda without a GPU, for test_gpu_binding.py: two devices whose memory is the host's, streams that are always done,
 * kernels that do nothing. What matters is written to the file FAKE_LIBCUDA_LOG, if it is set. Signatures are those of cuda.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_IMAGE = 200, INVALID_CONTEXT = 201 };
enum { NOT_FOUND = 500 };
enum { NOT_READY = 600, ILLEGAL_ADDRESS = 700 };
typedef uint64_t Pointer;

static void *contexts[2] = {(void *)0x11, (void *)0x22}, *current;
static Pointer pinned;

static void tell(const char *format, ...) {
    const char *log = getenv("FAKE_LIBCUDA_LOG");
    if (!log) return;
    FILE *file = fopen(log, "a");
    va_list values;
    va_start(values, format);
    vfprintf(file, format, values);
    va_end(values);
    fputc('\n', file);
    fclose(file);
}

int cuInit(unsigned flags) { /* in the child of a process that has called it, it fails */
    static pid_t caller;
    if (!caller) caller = getpid();
    return caller == getpid() ? (tell("init"), SUCCESS) : NOT_INITIALIZED;
}
int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuGetErrorString(int error, const char **text) {
    return *text = error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "out of memory", SUCCESS;
}
int cuGetErrorName(int error, const char **text) { return *text = "NAME", SUCCESS; }

/* Devices and contexts */
int cuDeviceGetCount(int *count) { return *count = 2, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDeviceGetName(char *name, int length, int device) { return snprintf(name, length, "Fake %d", device), SUCCESS; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 80ull << 30, SUCCESS; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    /* Compute capability 9.0, 2048 threads a multiprocessor; the others are their own numbers. */
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 39 ? 2048 : attribute;
    return SUCCESS;
}
int cuDeviceGetUuid_v2(char *uuid, int device) {
    for (int i = 0; i < 16; i++) uuid[i] = i;
    return SUCCESS;
}
int cuDeviceCanAccessPeer(int *can, int device, int peer) { return *can = 1, SUCCESS; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = contexts[device], SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }
int cuCtxSetCurrent(void *context) { return current = context, SUCCESS; }
int cuCtxGetCurrent(void **context) { return *context = current, SUCCESS; }
int cuCtxPushCurrent_v2(void *context) { return current = context, SUCCESS; }
int cuCtxPopCurrent_v2(void **context) { return *context = current, current = NULL, SUCCESS; }
int cuCtxGetDevice(int *device) { return *device = current == contexts[1], current ? SUCCESS : INVALID_CONTEXT; }
int cuCtxSynchronize(void) { return tell("synchronize"), SUCCESS; }

/* Memory */
int cuMemAlloc_v2(Pointer *pointer, size_t n) {
    return n >> 40 ? OUT_OF_MEMORY : (*pointer = (Pointer)malloc(n), SUCCESS);
}
int cuMemFree_v2(Pointer pointer) { return free((void *)pointer), SUCCESS; }
int cuMemGetInfo_v2(size_t *unused, size_t *total) { return *unused = 5, *total = 10, SUCCESS; }
int cuMemHostAlloc(void **pointer, size_t n, unsigned flags) {
    *pointer = malloc(n);
    pinned = (Pointer)*pointer;
    tell("pinned, flags %u", flags);
    return SUCCESS;
}
int cuMemHostGetFlags(unsigned *flags, void *pointer) {
    return (Pointer)pointer == pinned ? (*flags = 1, SUCCESS) : INVALID_VALUE;
}
int cuMemFreeHost(void *pointer) { return free(pointer), SUCCESS; }
int cuPointerGetAttribute(void *value, int attribute, Pointer pointer) {
    if (attribute == 9) return *(int *)value = 0, SUCCESS;
    if (attribute == 2) return *(unsigned *)value = 1, SUCCESS; /* pageable memory too, as where kernels can read it */
    return INVALID_VALUE;
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t n, void *stream) {
    memcpy((void *)to, from, n);
    tell("h2d %zu", n);
    return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t n, void *stream) {
    memcpy(to, (void *)from, n);
    tell("d2h %zu", n);
    return SUCCESS;
}
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t n, void *stream) {
    memcpy((void *)to, (void *)from, n);
    tell("d2d %zu", n);
    return SUCCESS;
}
int cuMemsetD8Async(Pointer pointer, unsigned char byte, size_t n, void *stream) {
    memset((void *)pointer, byte, n);
    tell("memset %d %zu", byte, n);
    return SUCCESS;
}

/* Streams and events */
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    *stream = malloc(1);
    tell("stream, flags %u, priority %d", flags, priority);
    return SUCCESS;
}
int cuStreamDestroy_v2(void *stream) { return free(stream), SUCCESS; }
int cuStreamSynchronize(void *stream) { return tell("wait"), SUCCESS; }
int cuStreamQuery(void *stream) { return stream == (void *)0x77 ? ILLEGAL_ADDRESS : stream ? NOT_READY : SUCCESS; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return tell("wait for event"), SUCCESS; }
int cuEventCreate(void **event, unsigned flags) { return *event = malloc(1), tell("event, flags %u", flags), SUCCESS; }
int cuEventRecord(void *event, void *stream) { return SUCCESS; }
int cuEventQuery(void *event) { return SUCCESS; }
int cuEventSynchronize(void *event) { return SUCCESS; }
int cuEventElapsedTime_v2(float *ms, void *start, void *end) { return *ms = 1.5f, SUCCESS; }
int cuEventDestroy_v2(void *event) { return free(event), SUCCESS; }

/* Kernels */
int cuModuleLoadData(void **module, const void *code) {
    int is_for_a_gpu = !memcmp(code, "\177ELF", 4) && ((const unsigned char *)code)[18] == 190;
    return is_for_a_gpu ? (*module = (void *)0x97, SUCCESS) : INVALID_IMAGE;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return *function = (void *)0x96, tell("kernel %s", strstr(name, "fill") ? "fill" : name), SUCCESS;
}
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **arguments, void **extra) {
    /* An array of numba: meminfo, parent, size, itemsize, pointer, sizes, strides. Then the number. */
    tell("launch %u x %u, stream %p, size %ld, itemsize %ld, pointer %p, number %g", x, threads, stream,
         *(long *)arguments[2], *(long *)arguments[3], *(void **)arguments[4], *(float *)arguments[7]);
    return SUCCESS;
}

/* cuda.bindings asks for every function by its name in cuda.h, and means its newest version. */
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    char versioned[200];
    snprintf(versioned, sizeof versioned, "%s_v2", name);
    *function = dlsym(self, versioned);
    if (!*function) *function = dlsym(self, name);
    if (status) *status = *function ? 0 : 1;
    return *function ? SUCCESS : NOT_FOUND;
}
