// The whole process: the driver's clock, forked children, and the shutdown of the runtime.
#include <fcntl.h>
#include <hsa/amd_hsa_signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// As in linux/kfd_ioctl.h, which not every system has.
struct version {
  uint32_t major, minor;
};
struct counters {
  uint64_t gpu, cpu, system, frequency;
  uint32_t gpu_id, padding;
};
#define GET_VERSION _IOR('K', 1, struct version)
#define GET_CLOCK_COUNTERS _IOWR('K', 5, struct counters)
#define ACQUIRE_VM _IOW('K', 0x15, uint64_t)

static void copy(things_t things, void *to, void *from, hsa_signal_t done) {
  hsa_signal_store_relaxed(done, 1);
  WORKS(hsa_amd_memory_async_copy(to, things.gpu, from, things.gpu, 4096, 0, NULL, done));
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 20000000000u, HSA_WAIT_STATE_BLOCKED) == 0);
}

// The driver's counters use the same clocks as the runtime and the signals.
void driver_clocks(things_t things) {
  struct version version = {0};
  struct counters before = {.gpu_id = 7}, after = {0};
  uint64_t system = 0;
  void *memory = NULL;
  hsa_signal_t done;
  WORKS(hsa_amd_memory_pool_allocate(things.device, 8192, 0, &memory));
  WORKS(hsa_signal_create(1, 0, NULL, &done));
  WORKS(hsa_amd_profiling_async_copy_enable(true));
  int driver = open("/dev/kfd", O_RDWR | O_CLOEXEC), other = open("/dev/zero", O_RDWR);
  CHECK(!ioctl(driver, GET_VERSION, &version) && version.major == 1 && version.minor > 0);
  CHECK(!ioctl(driver, GET_CLOCK_COUNTERS, &before));
  WORKS(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &system));
  copy(things, memory, (char *)memory + 4096, done);
  CHECK(!ioctl(driver, GET_CLOCK_COUNTERS, &after));
  const amd_signal_t *times = (const amd_signal_t *)done.handle;
  CHECK(before.gpu && before.gpu <= times->start_ts);
  CHECK(times->start_ts <= times->end_ts && times->end_ts <= after.gpu);
  CHECK(before.system <= system && system <= after.system);
  CHECK(before.cpu && before.cpu < after.cpu);
  CHECK(before.frequency == 1000000000 && before.gpu_id == 7);

  CHECK(ioctl(driver, GET_CLOCK_COUNTERS, NULL) == -1);
  CHECK(ioctl(driver, ACQUIRE_VM, &after) == -1);
  CHECK(ioctl(other, GET_CLOCK_COUNTERS, &after) == -1);
  CHECK(ioctl(-1, GET_CLOCK_COUNTERS, &after) == -1);
  close(driver);
  close(other);
  WORKS(hsa_signal_destroy(done));
  WORKS(hsa_amd_memory_pool_free(memory));
}

// A forked child has none of the runtime's threads: its calls fail silently, and those of its parent work.
void forked(things_t things) {
  void *memory = NULL;
  hsa_signal_t done;
  hsa_queue_t *queue = NULL;
  WORKS(hsa_amd_memory_pool_allocate(things.device, 8192, 0, &memory));
  WORKS(hsa_signal_create(1, 0, NULL, &done));
  WORKS(hsa_queue_create(things.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  copy(things, memory, (char *)memory + 4096, done);
  int said[2];
  CHECK(!pipe(said));
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    alarm(20);
    dup2(said[1], 2);
    GIVES(HSA_STATUS_ERROR, hsa_queue_destroy(queue));
    GIVES(HSA_STATUS_ERROR, hsa_amd_memory_async_copy(memory, things.gpu, memory, things.gpu, 64, 0, NULL, done));
    GIVES(HSA_STATUS_ERROR, hsa_init());
    GIVES(HSA_STATUS_ERROR, hsa_shut_down());
    fflush(stdout);
    _exit(wrong);
  }
  int status = -1;
  char text;
  close(said[1]);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(read(said[0], &text, 1) == 0);
  close(said[0]);
  copy(things, memory, (char *)memory + 4096, done);
  WORKS(hsa_queue_destroy(queue));
  WORKS(hsa_signal_destroy(done));
  WORKS(hsa_amd_memory_pool_free(memory));
}

static int begun = 0;

static bool starts_again(hsa_signal_value_t value, void *data) {
  (void)value, (void)data;
  __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
  usleep(50000);
  WORKS(hsa_init());
  WORKS(hsa_shut_down());
  return false;
}

// hsa_shut_down waits for handlers, which may initialize the runtime again.
void ended_under_a_handler(things_t things) {
  (void)things;
  hsa_signal_t signal;
  alarm(20);
  WORKS(hsa_signal_create(0, 0, NULL, &signal));
  WORKS(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, starts_again, NULL));
  while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST)) usleep(100);
  WORKS(hsa_shut_down());
  WORKS(hsa_init());
  alarm(0);
}
