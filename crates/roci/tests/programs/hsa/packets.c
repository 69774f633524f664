// Commands of the packet processor, and faults of kernels.
#include "check.h"

static hsa_status_t last = HSA_STATUS_SUCCESS;
static hsa_amd_event_t event;

static void failed(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)queue;
  last = status;
  hsa_signal_store_release(*(hsa_signal_t *)data, -1);
}

static hsa_status_t noticed(const hsa_amd_event_t *happened, void *data) {
  (void)data;
  event = *happened;
  return HSA_STATUS_SUCCESS;
}

// A vendor packet that runs commands from memory: 0, or -1 if the queue fails.
static hsa_signal_value_t run(hsa_queue_t *queue, hsa_signal_t done, const uint32_t *commands, uint32_t words) {
  const uint64_t address = (uint64_t)commands;
  uint32_t packet[16] = {0};
  packet[1] = 0xc0023f00;  // INDIRECT_BUFFER
  packet[2] = (uint32_t)address;
  packet[3] = (uint32_t)(address >> 32);
  packet[4] = words | 1 << 23;
  packet[5] = 10;
  memcpy(&packet[14], &done, sizeof done);
  hsa_signal_store_relaxed(done, 1);
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  uint32_t *slot = (uint32_t *)queue->base_address + 16 * (index & (queue->size - 1));
  memcpy(slot + 1, packet + 1, 60);
  __atomic_store_n(slot, HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << HSA_PACKET_HEADER_BARRIER | 1 << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  return hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
}

void vendor_packets(things_t things) {
  hsa_queue_t *queue = NULL;
  hsa_signal_t done;
  uint32_t *words = NULL;
  WORKS(hsa_signal_create(1, 0, NULL, &done));
  WORKS(hsa_queue_create(things.gpu, 64, HSA_QUEUE_TYPE_MULTI, failed, &done, 0, 0, &queue));
  WORKS(hsa_amd_memory_pool_allocate(things.fine, 4096, 0, (void **)&words));
  WORKS(hsa_amd_agents_allow_access(1, &things.gpu, NULL, words));
  const uint64_t target = (uint64_t)(words + 512);
  const uint32_t low = (uint32_t)target, high = (uint32_t)(target >> 32);
  const uint32_t commands[] = {
      0xc0065800, 0, 0, 0, 0, 0, 0, 0,                            // caches are invalidated
      0xc0033700, 5 << 8, low, high, 1234,                        // a word is written
      0xc0044000, 9 | 5 << 8 | 1 << 16, 0, 0, low + 8, high,      // the clock is copied
      0xc0001000, 0,                                              // nothing
  };
  memcpy(words, commands, sizeof commands);
  CHECK(run(queue, done, words, sizeof commands / 4) == 0);
  uint64_t clock = 0;
  memcpy(&clock, words + 514, 8);
  CHECK(words[512] == 1234 && clock != 0);
  const uint32_t dispatch[] = {0xc0031500, 1, 1, 1, 1};
  memcpy(words, dispatch, sizeof dispatch);
  CHECK(run(queue, done, words, 5) == -1 && last == HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  WORKS(hsa_queue_destroy(queue));
  WORKS(hsa_memory_free(words));
  WORKS(hsa_signal_destroy(done));
}

// A kernel writes to an address; checks the fault event.
static uint32_t reason(things_t things, kernel_t kernel, void *address) {
  hsa_queue_t *queue = NULL;
  hsa_signal_t told;
  void **kernarg = NULL;
  WORKS(hsa_signal_create(1, 0, NULL, &told));
  WORKS(hsa_queue_create(things.gpu, 64, HSA_QUEUE_TYPE_SINGLE, failed, &told, 0, 0, &queue));
  WORKS(hsa_amd_memory_pool_allocate(things.kernarg, 4096, 0, (void **)&kernarg));
  WORKS(hsa_amd_agents_allow_access(1, &things.gpu, NULL, kernarg));
  *kernarg = address;
  hsa_kernel_dispatch_packet_t *packet = queue->base_address;
  memset((char *)packet + 4, 0, 60);
  packet->workgroup_size_x = 32;
  packet->workgroup_size_y = packet->workgroup_size_z = packet->grid_size_y = packet->grid_size_z = 1;
  packet->grid_size_x = 32;
  packet->kernel_object = kernel.object;
  packet->kernarg_address = kernarg;
  hsa_queue_store_write_index_relaxed(queue, 1);
  __atomic_store_n((uint32_t *)packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << 16, __ATOMIC_RELEASE);
  hsa_signal_store_relaxed(queue->doorbell_signal, 0);
  CHECK(hsa_signal_wait_acquire(told, HSA_SIGNAL_CONDITION_EQ, -1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == -1);
  CHECK(last == HSA_STATUS_ERROR_MEMORY_FAULT && event.event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT);
  CHECK(event.memory_fault.agent.handle == things.gpu.handle);
  CHECK(event.memory_fault.virtual_address >> 12 == (uint64_t)address >> 12);
  WORKS(hsa_queue_destroy(queue));
  WORKS(hsa_memory_free(kernarg));
  WORKS(hsa_signal_destroy(told));
  return event.memory_fault.fault_reason_mask;
}

void memory_faults(things_t things, code_t code) {
  hsa_executable_t executable;
  kernel_t kernel = load_kernel(things.gpu, code, "fill.kd", &executable);
  WORKS(hsa_amd_register_system_event_handler(noticed, NULL));
  CHECK(reason(things, kernel, (void *)0x123456789000) == HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
  // The kernel's descriptor is mapped, but read-only.
  CHECK(reason(things, kernel, (void *)kernel.object) == HSA_AMD_MEMORY_FAULT_READ_ONLY);
  WORKS(hsa_executable_destroy(executable));
}
