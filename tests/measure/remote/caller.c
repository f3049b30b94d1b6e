/* Calls compiled kernels without TVM's runtime, which they use for memory, threads and errors.
 *
 * CALLER LIBRARY ARGUMENTS [LIBRARY ARGUMENTS ...]
 *
 * A file of arguments has 64-bit numbers: how many arrays there are; of each the code and the bits
 * of its data type, its rank and its extents. The bytes of all arrays follow. They are read, and
 * after the call written back.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_backend_api.h>

enum { MOST = 16, TASKS = 3 };

static void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count) {
  for (int32_t i = 0; i < count; ++i) fputs(parts[i], stderr);
  die(kind);
}

static void *allocate(size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 64, bytes)) die("no memory");
  return memory;
}

static void *allocate_workspace(int type, int id, uint64_t bytes, int code, int bits) {
  return allocate(bytes);
}

static int free_workspace(int type, int id, void *memory) {
  free(memory);
  return 0;
}

static int launch(FTVMParallelLambda work, void *data, int tasks) {
  TVMParallelGroupEnv environment = {NULL, TASKS};
  for (int task = 0; task < TASKS; ++task)
    if (work(task, &environment, data)) return -1;
  return 0;
}

static void set(void *library, const char *name, void *function) {
  void **place = dlsym(library, name);
  if (place) *place = function;
}

static int64_t number(FILE *file) {
  int64_t read;
  if (fread(&read, sizeof read, 1, file) != 1) die("no number");
  return read;
}

static void call(const char *path, const char *arguments) {
  int64_t extents[MOST][MOST];
  DLTensor tensors[MOST] = {0};
  TVMFFIAny given[MOST] = {0}, result = {0};
  size_t bytes[MOST];

  void *library = dlopen(path, RTLD_NOW);
  if (!library) die(dlerror());
  set(library, "__TVMBackendAllocWorkspace", allocate_workspace);
  set(library, "__TVMBackendFreeWorkspace", free_workspace);
  set(library, "__TVMBackendParallelLaunch", launch);
  TVMFFISafeCallType kernel = (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_main");
  FILE *file = fopen(arguments, "r+b");
  if (!kernel || !file) die("no kernel, or no arguments");
  int count = number(file);
  for (int i = 0; i < count; ++i) {
    tensors[i].dtype.code = number(file);
    tensors[i].dtype.bits = number(file);
    tensors[i].dtype.lanes = 1;
    tensors[i].device = (DLDevice){kDLCPU, 0};
    tensors[i].ndim = number(file);
    tensors[i].shape = extents[i];
    bytes[i] = (tensors[i].dtype.bits + 7) / 8;
    for (int j = 0; j < tensors[i].ndim; ++j) bytes[i] *= extents[i][j] = number(file);
    given[i].type_index = kTVMFFIDLTensorPtr;
    given[i].v_ptr = &tensors[i];
  }
  long start = ftell(file);
  for (int i = 0; i < count; ++i) {
    tensors[i].data = allocate(bytes[i]);
    if (fread(tensors[i].data, 1, bytes[i], file) != bytes[i]) die("no array");
  }
  if (kernel(NULL, given, count, &result)) die("it failed");
  fseek(file, start, SEEK_SET);
  for (int i = 0; i < count; ++i) fwrite(tensors[i].data, 1, bytes[i], file);
  if (fclose(file)) die("not written");
}

int main(int count, char **words) {
  for (int i = 1; i + 1 < count; i += 2) call(words[i], words[i + 1]);
  return 0;
}
