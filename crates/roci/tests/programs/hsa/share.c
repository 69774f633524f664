// Memory and signals shared by two processes, and memory without addresses.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void to_text(const uint32_t *words, char *text) {
  for (int i = 0; i < 8; i++) sprintf(text + 8 * i, "%08x", words[i]);
}

static void from_text(const char *text, uint32_t *words) {
  for (int i = 0; i < 8; i++) sscanf(text + 8 * i, "%8x", &words[i]);
}

// The other process: adds one to the memory, then takes one from the signal.
void share(const char *memory, const char *signal) {
  hsa_amd_ipc_memory_t memory_handle;
  hsa_amd_ipc_signal_t signal_handle;
  from_text(memory, memory_handle.handle);
  from_text(signal, signal_handle.handle);
  uint32_t *words = NULL;
  hsa_signal_t attached;
  WORKS(hsa_amd_ipc_memory_attach(&memory_handle, 4096, 0, NULL, (void **)&words));
  WORKS(hsa_amd_ipc_signal_attach(&signal_handle, &attached));
  CHECK(words[1023] == 41);
  words[1023]++;
  hsa_signal_subtract_screlease(attached, 1);
  GIVES(BAD_ARGUMENT, hsa_memory_free(words));
  WORKS(hsa_amd_ipc_memory_detach(words));
  GIVES(BAD_ARGUMENT, hsa_amd_ipc_memory_detach(words));
  WORKS(hsa_signal_destroy(attached));
}

void shared(things_t things, const char *program) {
  uint32_t *words = NULL;
  hsa_amd_ipc_memory_t memory;
  hsa_amd_ipc_signal_t signal;
  hsa_signal_t done, plain;
  WORKS(hsa_amd_memory_pool_allocate(things.device, 4096, 0, (void **)&words));
  WORKS(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &done));
  WORKS(hsa_signal_create(1, 0, NULL, &plain));
  words[1023] = 41;
  GIVES(BAD_ARGUMENT, hsa_amd_ipc_memory_create(words + 1, 4092, &memory));
  GIVES(BAD_ARGUMENT, hsa_amd_ipc_memory_create(words, 64, &memory));
  GIVES(BAD_ARGUMENT, hsa_amd_ipc_memory_create(&done, 8, &memory));
  GIVES(BAD_ARGUMENT, hsa_amd_ipc_signal_create(plain, &signal));
  WORKS(hsa_amd_ipc_memory_create(words, 4096, &memory));
  WORKS(hsa_amd_ipc_signal_create(done, &signal));

  char texts[2][65];
  to_text(memory.handle, texts[0]);
  to_text(signal.handle, texts[1]);
  pid_t child = fork();
  if (!child) {
    execl(program, program, "share", texts[0], texts[1], NULL);
    _exit(99);
  }
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 20000000000u, HSA_WAIT_STATE_BLOCKED) == 0);
  CHECK(words[1023] == 42);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  memory.handle[0] ^= 1;
  GIVES(BAD_ARGUMENT, hsa_amd_ipc_memory_attach(&memory, 4096, 0, NULL, (void **)&words));
  WORKS(hsa_signal_destroy(done));
  WORKS(hsa_signal_destroy(plain));
}

// Newer than Debian's headers.
typedef struct {
  uint64_t handle;
} memory_t;
typedef struct {
  uint32_t permission;
  hsa_agent_t agent;
} access_t;

static void *function(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  if (!found) {
    printf("there is no %s\n", name);
    exit(1);
  }
  return found;
}

void virtual_memory(things_t things) {
  hsa_status_t (*reserve)(void **, size_t, uint64_t, uint64_t) = function("hsa_amd_vmem_address_reserve");
  hsa_status_t (*unreserve)(void *, size_t) = function("hsa_amd_vmem_address_free");
  hsa_status_t (*create)(hsa_amd_memory_pool_t, size_t, int, uint64_t, memory_t *) =
      function("hsa_amd_vmem_handle_create");
  hsa_status_t (*release)(memory_t) = function("hsa_amd_vmem_handle_release");
  hsa_status_t (*map)(void *, size_t, size_t, memory_t, uint64_t) = function("hsa_amd_vmem_map");
  hsa_status_t (*unmap)(void *, size_t) = function("hsa_amd_vmem_unmap");
  hsa_status_t (*set_access)(void *, size_t, const access_t *, size_t) = function("hsa_amd_vmem_set_access");
  hsa_status_t (*get_access)(void *, uint32_t *, hsa_agent_t) = function("hsa_amd_vmem_get_access");
  hsa_status_t (*retain)(memory_t *, void *) = function("hsa_amd_vmem_retain_alloc_handle");
  hsa_status_t (*properties)(memory_t, hsa_amd_memory_pool_t *, int *) =
      function("hsa_amd_vmem_get_alloc_properties_from_handle");
  hsa_status_t (*export_file)(int *, memory_t, uint64_t) = function("hsa_amd_vmem_export_shareable_handle");
  hsa_status_t (*import_file)(int, memory_t *) = function("hsa_amd_vmem_import_shareable_handle");

  const size_t size = 2 << 20;
  char *first = NULL, *second = NULL;
  memory_t memory, same, imported;
  WORKS(reserve((void **)&first, size, 0, 0));
  WORKS(reserve((void **)&second, size, 0, 0));
  GIVES(BAD_ARGUMENT, create(things.device, size + 1, 0, 0, &memory));
  GIVES(BAD_ARGUMENT, create((hsa_amd_memory_pool_t){7}, size, 0, 0, &memory));
  WORKS(create(things.device, size, 0, 0, &memory));
  WORKS(map(first, size, 0, memory, 0));
  GIVES(BAD_ARGUMENT, map(first, size, 0, memory, 0));

  uint32_t permission = 77;
  access_t access = {HSA_ACCESS_PERMISSION_RO, things.gpu};
  WORKS(get_access(first, &permission, things.gpu));
  CHECK(permission == 0);
  WORKS(set_access(first, size, &access, 1));
  WORKS(get_access(first, &permission, things.gpu));
  CHECK(permission == HSA_ACCESS_PERMISSION_RO);
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, get_access(second, &permission, things.gpu));

  hsa_amd_memory_pool_t pool;
  int type = 77;
  WORKS(retain(&same, first));
  WORKS(properties(same, &pool, &type));
  CHECK(same.handle == memory.handle && pool.handle == things.device.handle && type == 0);
  WORKS(release(memory));
  WORKS(release(memory));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, release(memory));
  WORKS(retain(&same, first));

  // The same memory through a file descriptor.
  int file = -1;
  WORKS(export_file(&file, same, 0));
  WORKS(import_file(file, &imported));
  GIVES(BAD_ARGUMENT, import_file(-1, &imported));
  close(file);
  WORKS(map(second, size, 0, imported, 0));
  first[size - 1] = 9;
  CHECK(second[size - 1] == 9);
  GIVES(HSA_STATUS_ERROR_RESOURCE_FREE, unreserve(first, size));
  WORKS(unmap(first, size));
  WORKS(unmap(second, size));
  GIVES(BAD_ARGUMENT, unreserve(first, size / 2));
  WORKS(unreserve(first, size));
  WORKS(unreserve(second, size));
  WORKS(release(same));
  WORKS(release(imported));
}
