// Queues: invalid arguments, deprecated index functions, CU masks, soft queues, errors.
#include "check.h"

static hsa_status_t last = HSA_STATUS_SUCCESS;

static void failed(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)queue;
  last = status;
  hsa_signal_store_release(*(hsa_signal_t *)data, 0);
}

static hsa_status_t first_region(hsa_region_t region, void *data) {
  *(hsa_region_t *)data = region;
  return HSA_STATUS_INFO_BREAK;
}

static void creation(things_t things) {
  hsa_queue_t *queue = NULL;
  GIVES(BAD_ARGUMENT, hsa_queue_create(things.gpu, 0, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  GIVES(BAD_ARGUMENT, hsa_queue_create(things.gpu, 100, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  GIVES(BAD_ARGUMENT, hsa_queue_create(things.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, NULL));
  GIVES(BAD_ARGUMENT, hsa_queue_create(things.gpu, 64, 9, NULL, NULL, 0, 0, &queue));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_queue_create(no_agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  GIVES(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
        hsa_queue_create(things.cpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  GIVES(BAD_ARGUMENT, hsa_queue_destroy(NULL));
  GIVES(BAD_ARGUMENT, hsa_queue_inactivate(NULL));
  uint32_t most = 0;
  WORKS(hsa_agent_get_info(things.gpu, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &most));
  GIVES(BAD_ARGUMENT, hsa_queue_create(things.gpu, 32, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  GIVES(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        hsa_queue_create(things.gpu, 2 * most, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));

  hsa_region_t region = {0};
  hsa_signal_t bell;
  WORKS(hsa_signal_create(0, 0, NULL, &bell));
  hsa_agent_iterate_regions(things.cpu, first_region, &region);
  const uint32_t feature = HSA_QUEUE_FEATURE_AGENT_DISPATCH;
  GIVES(BAD_ARGUMENT, hsa_soft_queue_create((hsa_region_t){0}, 64, HSA_QUEUE_TYPE_MULTI, feature, bell, &queue));
  GIVES(BAD_ARGUMENT, hsa_soft_queue_create(region, 65, HSA_QUEUE_TYPE_MULTI, feature, bell, &queue));
  GIVES(BAD_ARGUMENT, hsa_soft_queue_create(region, 64, HSA_QUEUE_TYPE_COOPERATIVE, feature, bell, &queue));
  GIVES(BAD_ARGUMENT, hsa_soft_queue_create(region, 64, HSA_QUEUE_TYPE_MULTI, 0, bell, &queue));
  WORKS(hsa_soft_queue_create(region, 16, HSA_QUEUE_TYPE_SINGLE, feature, bell, &queue));
  CHECK(queue->size == 16 && queue->doorbell_signal.handle == bell.handle && queue->features == feature);
  hsa_queue_store_read_index_release(queue, 3);
  CHECK(hsa_queue_load_read_index_acquire(queue) == 3);
  WORKS(hsa_queue_destroy(queue));
  GIVES(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(queue));
  WORKS(hsa_signal_destroy(bell));
}

void queues(things_t things, code_t code) {
  creation(things);
  hsa_queue_t *queue = NULL;
  hsa_signal_t told;
  WORKS(hsa_signal_create(1, 0, NULL, &told));
  WORKS(hsa_queue_create(things.gpu, 64, HSA_QUEUE_TYPE_MULTI, failed, &told, UINT32_MAX, UINT32_MAX, &queue));

  uint32_t mask[2] = {0};
  WORKS(hsa_amd_queue_cu_get_mask(queue, 64, mask));
  CHECK(mask[0] == UINT32_MAX && mask[1] == 0xff);  // 40 compute units
  mask[0] = 0xff00ff00;
  WORKS(hsa_amd_queue_cu_set_mask(queue, 32, mask));
  WORKS(hsa_amd_queue_cu_get_mask(queue, 64, mask));
  CHECK(mask[0] == 0xff00ff00 && mask[1] == 0);
  WORKS(hsa_amd_queue_cu_set_mask(queue, 0, NULL));
  GIVES(BAD_ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 33, mask));
  GIVES(BAD_ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 32, NULL));
  GIVES(BAD_ARGUMENT, hsa_amd_queue_cu_get_mask(queue, 0, mask));
  GIVES(BAD_ARGUMENT, hsa_amd_queue_set_priority(queue, (hsa_amd_queue_priority_t)77));
  WORKS(hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_HIGH));

  int *words = NULL;
  void *kernarg = NULL;
  hsa_executable_t executable;
  kernel_t kernel = load_kernel(things.gpu, code, "fill.kd", &executable);
  WORKS(hsa_amd_memory_pool_allocate(things.fine, 4096, 0, (void **)&words));
  WORKS(hsa_amd_memory_pool_allocate(things.kernarg, 4096, 0, &kernarg));
  WORKS(hsa_amd_agents_allow_access(1, &things.gpu, NULL, words));
  WORKS(hsa_amd_agents_allow_access(1, &things.gpu, NULL, kernarg));
  memset(kernarg, 0, kernel.kernarg_size);
  *(int **)kernarg = words;
  dispatch(queue, kernel, kernarg, 100, 32);
  CHECK(words[0] == 10 && words[99] == 40 + 99 && words[100] == 0);
  CHECK(hsa_queue_load_read_index_acquire(queue) == 1 && hsa_queue_load_write_index_acquire(queue) == 1);
  CHECK(hsa_queue_cas_write_index_acq_rel(queue, 7, 8) == 1);

  // An invalid kernel object puts the queue into the error state, and its callback is called.
  uint64_t index = hsa_queue_add_write_index_release(queue, 1);
  hsa_kernel_dispatch_packet_t *packet = (hsa_kernel_dispatch_packet_t *)queue->base_address + index;
  memset((char *)packet + 4, 0, 60);
  packet->workgroup_size_x = packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
  packet->kernel_object = 0x7770;
  __atomic_store_n((uint32_t *)packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << 16, __ATOMIC_RELEASE);
  hsa_signal_store_relaxed(queue->doorbell_signal, (hsa_signal_value_t)index);
  hsa_signal_wait_acquire(told, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  CHECK(last == HSA_STATUS_ERROR_INVALID_CODE_OBJECT);

  WORKS(hsa_queue_inactivate(queue));
  WORKS(hsa_queue_destroy(queue));
  WORKS(hsa_executable_destroy(executable));
  WORKS(hsa_memory_free(words));
  WORKS(hsa_memory_free(kernarg));
  WORKS(hsa_signal_destroy(told));
}
