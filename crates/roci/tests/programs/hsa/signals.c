// Signals, signal groups, and waits.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static int calls = 0;

static bool twice(hsa_signal_value_t value, void *data) {
  *(hsa_signal_value_t *)data = value;
  return __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) < 2;
}

static void once(void *data) { hsa_signal_store_release(*(hsa_signal_t *)data, 7); }

static void *later(void *data) {
  usleep(20000);
  hsa_signal_subtract_acq_rel(*(hsa_signal_t *)data, 1);
  return NULL;
}

static void old_names(hsa_signal_t signal) {
  hsa_signal_store_release(signal, 5);
  hsa_signal_add_acquire(signal, 3);
  hsa_signal_subtract_release(signal, 2);
  CHECK(hsa_signal_load_acquire(signal) == 6);
  hsa_signal_or_acq_rel(signal, 9);
  hsa_signal_and_acquire(signal, 13);
  hsa_signal_xor_release(signal, 1);
  CHECK(hsa_signal_load_acquire(signal) == 12);
  CHECK(hsa_signal_exchange_acq_rel(signal, 20) == 12);
  CHECK(hsa_signal_cas_acquire(signal, 21, 30) == 20 && hsa_signal_load_acquire(signal) == 20);
  CHECK(hsa_signal_cas_release(signal, 20, 30) == 20 && hsa_signal_load_acquire(signal) == 30);
}

void signals(things_t things) {
  hsa_signal_t pair[2], none = {0};
  GIVES(BAD_ARGUMENT, hsa_signal_create(0, 0, NULL, NULL));
  GIVES(BAD_ARGUMENT, hsa_signal_create(0, 1, NULL, &pair[0]));
  hsa_agent_t same[2] = {things.gpu, things.gpu};
  GIVES(BAD_ARGUMENT, hsa_signal_create(0, 2, same, &pair[0]));
  WORKS(hsa_signal_create(1, 1, &things.gpu, &pair[0]));
  WORKS(hsa_amd_signal_create(2, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &pair[1]));
  old_names(pair[0]);

  volatile hsa_signal_value_t *place = NULL;
  WORKS(hsa_amd_signal_value_pointer(pair[0], &place));
  *place = 1;
  CHECK(hsa_signal_load_relaxed(pair[0]) == 1);
  GIVES(BAD_ARGUMENT, hsa_amd_signal_value_pointer(pair[0], NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_amd_signal_value_pointer(none, &place));

  // Waits end at once, after a timeout, and by another thread.
  CHECK(hsa_signal_wait_acquire(pair[0], HSA_SIGNAL_CONDITION_EQ, 1, 0, HSA_WAIT_STATE_ACTIVE) == 1);
  CHECK(hsa_signal_wait_scacquire(pair[0], HSA_SIGNAL_CONDITION_GTE, 9, 1000, HSA_WAIT_STATE_BLOCKED) == 1);
  pthread_t thread;
  pthread_create(&thread, NULL, later, &pair[0]);
  CHECK(hsa_signal_wait_relaxed(pair[0], HSA_SIGNAL_CONDITION_NE, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
  pthread_join(thread, NULL);

  hsa_signal_group_t group;
  hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_LT};
  hsa_signal_value_t values[2] = {99, 2}, value = 0;
  hsa_signal_t met = none;
  GIVES(BAD_ARGUMENT, hsa_signal_group_create(0, pair, 0, NULL, &group));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_group_create(1, &none, 0, NULL, &group));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_signal_group_create(2, pair, 1, &no_agent, &group));
  WORKS(hsa_signal_group_create(2, pair, 1, &things.gpu, &group));
  pthread_create(&thread, NULL, later, &pair[1]);
  WORKS(hsa_signal_group_wait_any_scacquire(group, conditions, values, HSA_WAIT_STATE_BLOCKED, &met, &value));
  CHECK(met.handle == pair[1].handle && value == 1);
  pthread_join(thread, NULL);
  WORKS(hsa_signal_group_wait_any_relaxed(group, conditions, values, HSA_WAIT_STATE_ACTIVE, &met, &value));
  WORKS(hsa_signal_group_destroy(group));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, hsa_signal_group_destroy(group));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP,
        hsa_signal_group_wait_any_relaxed(group, conditions, values, HSA_WAIT_STATE_ACTIVE, &met, &value));
  CHECK(hsa_amd_signal_wait_any(2, pair, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &value) == 1);

  // A handler that returns true is called again; a function is called once.
  GIVES(BAD_ARGUMENT, hsa_amd_signal_async_handler(pair[0], HSA_SIGNAL_CONDITION_EQ, 3, NULL, NULL));
  WORKS(hsa_amd_signal_async_handler(pair[0], HSA_SIGNAL_CONDITION_EQ, 3, twice, &value));
  hsa_signal_store_relaxed(pair[0], 3);
  for (int i = 0; i < 1000 && __atomic_load_n(&calls, __ATOMIC_SEQ_CST) < 2; i++) usleep(1000);
  CHECK(calls == 2 && value == 3);
  GIVES(BAD_ARGUMENT, hsa_amd_async_function(NULL, NULL));
  WORKS(hsa_amd_async_function(once, &pair[0]));
  CHECK(hsa_signal_wait_acquire(pair[0], HSA_SIGNAL_CONDITION_EQ, 7, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 7);

  WORKS(hsa_signal_destroy(pair[0]));
  WORKS(hsa_signal_destroy(pair[1]));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_destroy(pair[1]));
  GIVES(HSA_STATUS_ERROR_INVALID_SIGNAL,
        hsa_amd_signal_async_handler(pair[1], HSA_SIGNAL_CONDITION_EQ, 3, twice, &value));
}
