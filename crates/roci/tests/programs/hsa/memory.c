// Memory: pools, regions, locked memory, pointers, copies, reserved addresses.
#include "check.h"

static hsa_status_t first_region(hsa_region_t region, void *data) {
  hsa_region_segment_t segment;
  uint32_t flags;
  WORKS(hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment));
  WORKS(hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
  if (segment != HSA_REGION_SEGMENT_GLOBAL || !(flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED)) return HSA_STATUS_SUCCESS;
  *(hsa_region_t *)data = region;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_amd_pointer_info_t info_of(const void *pointer) {
  hsa_amd_pointer_info_t info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  WORKS(hsa_amd_pointer_info(pointer, &info, NULL, NULL, NULL));
  return info;
}

typedef struct {
  void *pointer;
  int calls;
} told_t;

static void freed(void *pointer, void *data) {
  told_t *told = data;
  told->pointer = pointer;
  told->calls++;
}

static void other(void *pointer, void *data) {
  (void)pointer;
  (void)data;
}

static void regions(things_t things) {
  hsa_region_t region = {0};
  int *words = NULL;
  GIVES(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_regions(things.cpu, first_region, &region));
  GIVES(BAD_ARGUMENT, hsa_memory_allocate(region, 0, (void **)&words));
  GIVES(BAD_ARGUMENT, hsa_memory_allocate(region, 64, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_REGION, hsa_memory_allocate((hsa_region_t){0x7777}, 64, (void **)&words));
  WORKS(hsa_memory_allocate(region, 4096, (void **)&words));
  words[0] = words[1023] = 5;

  // Every agent can access it.
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  uint32_t count = 0;
  hsa_agent_t *agents = NULL;
  WORKS(hsa_amd_pointer_info(words, &info, malloc, &count, &agents));
  CHECK(count == 2 && info.type == HSA_EXT_POINTER_TYPE_HSA && info.agentOwner.handle == things.cpu.handle);
  free(agents);

  WORKS(hsa_memory_assign_agent(words, things.gpu, HSA_ACCESS_PERMISSION_RW));
  GIVES(BAD_ARGUMENT, hsa_memory_assign_agent(NULL, things.gpu, HSA_ACCESS_PERMISSION_RW));
  GIVES(BAD_ARGUMENT, hsa_memory_assign_agent(words, things.gpu, (hsa_access_permission_t)9));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_memory_assign_agent(words, no_agent, HSA_ACCESS_PERMISSION_RO));
  WORKS(hsa_memory_free(words));
  WORKS(hsa_memory_free(NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_memory_free(words));
  WORKS(hsa_memory_register(NULL, 0));
  GIVES(BAD_ARGUMENT, hsa_memory_register(&count, 0));
  WORKS(hsa_memory_deregister(&count, 4));
}

static void locked(things_t things) {
  uint32_t *host = malloc(1 << 16), *device = NULL;
  GIVES(BAD_ARGUMENT, hsa_amd_memory_lock(NULL, 64, NULL, 0, (void **)&device));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_lock(host, 0, NULL, 0, (void **)&device));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_lock(host, 64, NULL, 0, NULL));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_lock(host, 64, &things.gpu, 0, (void **)&device));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_lock(host, 64, NULL, 1, (void **)&device));
  hsa_agent_t bad = no_agent;
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_memory_lock(host, 64, &bad, 1, (void **)&device));
  GIVES(HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
        hsa_amd_memory_lock_to_pool(host, 64, NULL, 0, things.device, 0, (void **)&device));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_lock_to_pool(host, 64, NULL, 0, things.fine, 7, (void **)&device));

  CHECK(info_of(host).type == HSA_EXT_POINTER_TYPE_UNKNOWN);
  WORKS(hsa_amd_memory_lock(host, 1 << 16, &things.gpu, 1, (void **)&device));
  // Both addresses are known and refer to the same memory.
  hsa_amd_pointer_info_t by_host = info_of(host + 5), by_device = info_of(device + 5);
  CHECK(by_host.type == HSA_EXT_POINTER_TYPE_LOCKED && by_device.type == HSA_EXT_POINTER_TYPE_LOCKED);
  CHECK(by_host.hostBaseAddress == host && by_host.agentBaseAddress == device);
  CHECK(by_device.hostBaseAddress == host && by_device.agentBaseAddress == device);
  CHECK(by_host.agentOwner.handle == things.cpu.handle && by_host.sizeInBytes == 1 << 16);
  WORKS(hsa_amd_memory_fill(device + 1, 0x01020304, 2));
  CHECK(host[1] == 0x01020304 && host[2] == 0x01020304);
  uint32_t word = 77, back = 0;
  WORKS(hsa_memory_copy(device + 3, &word, 4));
  WORKS(hsa_memory_copy(&back, device + 3, 4));
  CHECK(host[3] == 77 && back == 77);
  WORKS(hsa_amd_pointer_info_set_userdata(host, &word));
  CHECK(info_of(device).userData == &word);
  WORKS(hsa_amd_memory_unlock(host));
  CHECK(info_of(host).type == HSA_EXT_POINTER_TYPE_UNKNOWN);
  WORKS(hsa_amd_memory_unlock(host));
  free(host);
}

static void copies(things_t things, uint32_t *words) {
  hsa_signal_t first, done;
  uint32_t *target = NULL;
  WORKS(hsa_signal_create(1, 0, NULL, &first));
  WORKS(hsa_signal_create(1, 0, NULL, &done));
  WORKS(hsa_amd_memory_pool_allocate(things.device, 4096, 0, (void **)&target));
  GIVES(BAD_ARGUMENT, hsa_memory_copy(NULL, words, 4));
  GIVES(BAD_ARGUMENT, hsa_memory_copy(target, NULL, 4));
  WORKS(hsa_memory_copy(target, words, 0));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_async_copy(NULL, things.gpu, words, things.cpu, 4, 0, NULL, done));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_async_copy(target, things.gpu, words, things.cpu, 4, 1, NULL, done));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_async_copy(target, things.gpu, words, things.cpu, 4, 0, &first, done));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT,
        hsa_amd_memory_async_copy(target, no_agent, words, things.cpu, 4, 0, NULL, done));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL,
        hsa_amd_memory_async_copy(target, things.gpu, words, things.cpu, 4, 0, NULL, (hsa_signal_t){0}));
  words[0] = 1;
  WORKS(hsa_amd_memory_async_copy(target, things.gpu, words, things.cpu, 4096, 1, &first, done));
  words[0] = 2;  // the copy waits for this signal
  hsa_signal_store_release(first, 0);
  CHECK(hsa_signal_wait_acquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
  uint32_t back[2] = {0};
  WORKS(hsa_memory_copy(back, target, 8));
  CHECK(back[0] == 2);

  // Two rows of two words, from pitch 16 to pitch 32.
  for (int i = 0; i < 16; i++) words[i] = 100 + i;
  WORKS(hsa_amd_memory_fill(target, 0, 64));
  hsa_pitched_ptr_t to = {target, 32, 0}, from = {words, 16, 0};
  hsa_dim3_t at = {4, 1, 0}, size = {8, 2, 1};
  hsa_signal_store_relaxed(done, 1);
  GIVES(BAD_ARGUMENT, hsa_amd_memory_async_copy_rect(NULL, &at, &from, &at, &size, things.gpu, hsaHostToDevice, 0,
                                                     NULL, done));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT,
        hsa_amd_memory_async_copy_rect(&to, &at, &from, &at, &size, things.cpu, hsaHostToDevice, 0, NULL, done));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_async_copy_rect(&to, &at, &from, &at, &size, things.gpu, hsaHostToHost, 0, NULL,
                                                     done));
  WORKS(hsa_amd_memory_async_copy_rect(&to, &at, &from, &at, &size, things.gpu, hsaHostToDevice, 0, NULL, done));
  CHECK(hsa_signal_wait_acquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
  uint32_t lines[32];
  WORKS(hsa_memory_copy(lines, target, sizeof lines));
  CHECK(lines[8] == 0 && lines[9] == 105 && lines[10] == 106 && lines[11] == 0 && lines[17] == 109);
  WORKS(hsa_memory_free(target));
  WORKS(hsa_signal_destroy(first));
  WORKS(hsa_signal_destroy(done));
}

void memory(things_t things) {
  regions(things);
  locked(things);

  uint32_t *words = NULL;
  GIVES(BAD_ARGUMENT, hsa_amd_memory_pool_allocate(things.fine, 0, 0, (void **)&words));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_pool_allocate(things.fine, 64, 0, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
        hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){0x7777}, 64, 0, (void **)&words));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_allocate(things.group, 64, 0, (void **)&words));
  WORKS(hsa_amd_memory_pool_allocate(things.fine, 4000, 0, (void **)&words));

  GIVES(BAD_ARGUMENT, hsa_amd_agents_allow_access(0, &things.gpu, NULL, words));
  GIVES(BAD_ARGUMENT, hsa_amd_agents_allow_access(1, NULL, NULL, words));
  GIVES(BAD_ARGUMENT, hsa_amd_agents_allow_access(1, &things.gpu, NULL, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_agents_allow_access(1, &no_agent, NULL, words));
  int local = 0;
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_agents_allow_access(1, &things.gpu, NULL, &local));
  WORKS(hsa_amd_agents_allow_access(1, &things.gpu, NULL, words));

  // The size is the requested one; old clients have a shorter struct.
  hsa_amd_pointer_info_t info = info_of(words + 7);
  CHECK(info.type == HSA_EXT_POINTER_TYPE_HSA && info.hostBaseAddress == words && info.sizeInBytes == 4000);
  memset(&info, 0xee, sizeof info);
  info.size = 16;
  WORKS(hsa_amd_pointer_info(words, &info, NULL, NULL, NULL));
  CHECK(info.agentBaseAddress == words && (size_t)info.hostBaseAddress == 0xeeeeeeeeeeeeeeee);
  info.size = 0;
  GIVES(BAD_ARGUMENT, hsa_amd_pointer_info(words, &info, NULL, NULL, NULL));
  GIVES(BAD_ARGUMENT, hsa_amd_pointer_info(NULL, &info, NULL, NULL, NULL));
  WORKS(hsa_amd_pointer_info_set_userdata(words, &local));
  CHECK(info_of(words + 1).userData == &local);
  GIVES(BAD_ARGUMENT, hsa_amd_pointer_info_set_userdata(&local, NULL));

  WORKS(hsa_amd_memory_fill(words, 0xabcdef01, 1000));
  CHECK(words[0] == 0xabcdef01 && words[999] == 0xabcdef01);
  WORKS(hsa_amd_memory_fill(words, 0, 0));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_fill(NULL, 0, 1));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_fill((char *)words + 1, 0, 1));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_fill(words, 0, 1001));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_fill(&local, 0, 1));

  bool can = true;
  GIVES(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_amd_memory_pool_can_migrate(things.fine, things.device, &can));
  CHECK(!can);
  GIVES(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_amd_memory_migrate(words, things.device, 0));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_migrate(NULL, things.device, 0));
  copies(things, words);

  told_t told = {0};
  WORKS(hsa_amd_register_deallocation_callback(words + 1, freed, &told));
  WORKS(hsa_amd_register_deallocation_callback(words + 2, freed, &told));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_register_deallocation_callback(&local, freed, &told));
  GIVES(BAD_ARGUMENT, hsa_amd_register_deallocation_callback(words, NULL, &told));
  GIVES(BAD_ARGUMENT, hsa_amd_deregister_deallocation_callback(words + 1, other));
  GIVES(BAD_ARGUMENT, hsa_amd_deregister_deallocation_callback(words, freed));
  WORKS(hsa_amd_deregister_deallocation_callback(words + 2, freed));
  WORKS(hsa_amd_memory_pool_free(words));
  CHECK(told.calls == 1 && told.pointer == words + 1);
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_free(words));
  CHECK(info_of(words).type == HSA_EXT_POINTER_TYPE_UNKNOWN);
  WORKS(hsa_amd_memory_pool_free(NULL));

  size_t size = 0;
  GIVES(HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
        hsa_amd_memory_pool_get_info((hsa_amd_memory_pool_t){0}, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_pool_get_info(things.device, HSA_AMD_MEMORY_POOL_INFO_SIZE, NULL));
  GIVES(BAD_ARGUMENT, hsa_amd_memory_pool_get_info(things.device, (hsa_amd_memory_pool_info_t)0x77, &size));
  // More memory than the GPU has.
  WORKS(hsa_amd_memory_pool_get_info(things.device, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
  GIVES(HSA_STATUS_ERROR_INVALID_ALLOCATION,
        hsa_amd_memory_pool_allocate(things.device, size + 4096, 0, (void **)&words));
}
