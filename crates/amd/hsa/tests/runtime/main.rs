//! The safe layer over a fake runtime.

mod fake;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use roci_hsa::abi::*;
use roci_hsa::runtime::{QueueOptions, Wait};
use roci_hsa::{Api, Error, Runtime, Source, Table};

fn open_with(api: Api) -> Result<Runtime, Error> {
    fake::take_log();
    // SAFETY: the fake functions behave as the real ones as far as these tests need; the others are
    // stubs.
    Runtime::open(Source::Table(unsafe { Table::new(api, "the fake") }))
}

fn open() -> Runtime {
    open_with(fake::api()).expect("the fake starts")
}

#[test]
fn dropping_the_last_user_shuts_the_runtime_down() {
    let runtime = open();
    let agent = runtime.agents().expect("agents").remove(0);
    let copy = runtime.clone();
    drop(runtime);
    drop(copy);
    assert_eq!(fake::take_log(), ["init"]);
    assert_eq!(agent.name().expect("a name"), "gfx1010", "an agent keeps the runtime alive");
    drop(agent);
    assert_eq!(fake::take_log(), ["shut_down"]);
}

#[test]
fn a_table_whose_init_fails_does_not_probe_the_kernel_driver() {
    let error = open_with(Api::unsupported()).expect_err("`hsa_init` fails");
    assert_eq!(
        error.to_string(),
        "`hsa_init` failed: HSA_STATUS_ERROR_NOT_SUPPORTED (the library does not support this)"
    );
    assert_eq!(error.status(), Some(Status::ERROR_NOT_SUPPORTED));
    assert_eq!(fake::take_log(), Vec::<String>::new(), "a runtime that did not start is not shut down");
}

#[test]
fn agents_have_their_attributes() {
    let runtime = open();
    let agents = runtime.agents().expect("agents");
    assert_eq!(agents.len(), 3);
    assert_eq!(agents[0].device_type().expect("a type"), DeviceType::GPU);
    assert_eq!(agents[0].uuid().expect("text"), "GPU-0123456789abcdef");
    assert_eq!(agents[0].compute_units().expect("a number"), 36);
    assert_eq!(agents[0].grid_max_dim().expect("three numbers"), Dim3 { x: 7, y: 8, z: 9 });
    assert_eq!(agents[0].isas().expect("isas")[0].name().expect("text"), "amdgcn-amd-amdhsa--gfx1010:xnack-");
    assert_eq!(runtime.timestamp_frequency().expect("a number"), 100_000_000);
    let error = agents[0].nearest_cpu().expect_err("the fake does not know it");
    assert_eq!(error.status(), Some(Status::ERROR_INVALID_ARGUMENT));
    assert!(error.to_string().starts_with("`hsa_agent_get_info` failed: HSA_STATUS_ERROR_INVALID_ARGUMENT"), "{error}");
}

#[test]
fn a_visit_ends_when_it_breaks() {
    let runtime = open();
    let mut visited = 0;
    let result = runtime.for_each_agent(|_| {
        visited += 1;
        if visited == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(result.is_ok(), "a break is not an error");
    assert_eq!(visited, 2);
}

#[test]
fn a_panic_in_a_visit_resumes_after_the_library_has_returned() {
    let runtime = open();
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.for_each_agent(|_| panic!("in the closure"))));
    let panic = panic.expect_err("the panic resumes");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in the closure"));
    assert_eq!(fake::take_log(), ["init", "iteration ended with HSA_STATUS_INFO_BREAK"]);
}

#[test]
fn a_failed_iteration_is_an_error() {
    let runtime = open();
    let agent = &runtime.agents().expect("agents")[1];
    let error = agent.pools().expect_err("the fake's second agent fails");
    assert_eq!(
        error.to_string(),
        "`hsa_amd_agent_iterate_memory_pools` failed: HSA_STATUS_ERROR_INVALID_AGENT (invalid agent)"
    );
}

#[test]
fn memory_is_freed_before_the_runtime_shuts_down() {
    let runtime = open();
    let agents = runtime.agents().expect("agents");
    let pool = agents[0].pools().expect("pools").remove(0);
    assert_eq!(pool.segment().expect("a segment"), Segment::GLOBAL);
    assert!(pool.flags().expect("flags").contains(MemoryPoolGlobalFlag::COARSE_GRAINED));
    assert_eq!(pool.granule().expect("a number"), 4096);
    let memory = pool.allocate(1000, MemoryPoolFlag::STANDARD_FLAG).expect("memory");
    assert_eq!((memory.size(), memory.address().addr().get() % 8), (1000, 0));
    memory.allow_access(&[&agents[0], &agents[2]]).expect("access");
    let error = pool.allocate(usize::MAX, MemoryPoolFlag::STANDARD_FLAG).expect_err("out of memory");
    assert_eq!(error.status(), Some(Status::ERROR_OUT_OF_RESOURCES));
    assert!(error.remedy().expect("a remedy").contains("less memory"));
    drop((agents, pool, runtime));
    fake::take_log();
    drop(memory);
    assert_eq!(fake::take_log(), ["free", "shut_down"]);
}

#[test]
fn signals_are_accessible_in_memory() {
    let runtime = open();
    let signal = runtime.create_signal(5, &[], SignalAttribute::EMPTY).expect("a signal");
    assert_eq!(signal.load(), 5);
    signal.store(3);
    assert_eq!(signal.in_memory().value.load(Ordering::Relaxed), 3, "the handle is its address");
    signal.in_memory().value.fetch_sub(3, Ordering::Release);
    assert_eq!(signal.wait(SignalCondition::EQ, 0, u64::MAX, WaitState::BLOCKED), 0);
    let other = runtime.create_signal(1, &[], SignalAttribute::AMD_GPU_ONLY).expect("a signal");
    let wait = |signal, value| Wait { signal, condition: SignalCondition::EQ, value };
    assert_eq!(runtime.wait_any(&[wait(&signal, 9), wait(&other, 1)], 1, WaitState::ACTIVE), Some((1, 1)));
    assert_eq!(runtime.wait_any(&[wait(&signal, 9), wait(&other, 9)], 1, WaitState::ACTIVE), None);
    fake::take_log();
    drop((signal, other, runtime));
    assert_eq!(fake::take_log(), ["signal_destroy", "signal_destroy", "shut_down"]);
}

#[test]
fn queue_errors_call_the_closure_and_its_panics_are_caught() {
    let runtime = open();
    let agent = runtime.agents().expect("agents").remove(0);
    let visited = Arc::new(AtomicU32::new(0));
    let in_handler = Arc::clone(&visited);
    let queue = agent.create_queue(&QueueOptions { size: 64, ..QueueOptions::default() }, move |status| {
        in_handler.store(status.0, Ordering::Relaxed);
        assert_ne!(status, Status::ERROR_EXCEPTION, "the handler panics on this one");
    });
    let queue = queue.expect("a queue");
    assert_eq!((queue.size(), queue.ring().addr().get() % 8), (64, 0));
    assert_eq!(
        (queue.write_index().fetch_add(1, Ordering::Relaxed), queue.read_index().load(Ordering::Relaxed)),
        (0, 0)
    );
    assert_eq!(queue.doorbell().swap(0, Ordering::Release), u64::MAX, "initial value of the fake doorbell");
    fake::fail_queue(Status::ERROR_MEMORY_FAULT);
    assert_eq!((visited.load(Ordering::Relaxed), queue.handler_panicked()), (Status::ERROR_MEMORY_FAULT.0, false));
    fake::fail_queue(Status::ERROR_EXCEPTION);
    assert!(queue.handler_panicked());
    drop((agent, runtime));
    fake::take_log();
    drop(queue);
    assert_eq!(fake::take_log(), ["queue_destroy", "shut_down"]);
    assert_eq!(Arc::strong_count(&visited), 1, "the closure is dropped with the queue");
    let error =
        open().agents().expect("agents")[0].create_queue(&QueueOptions { size: 63, ..QueueOptions::default() }, |_| {});
    assert_eq!(error.expect_err("63 is not a power of two").status(), Some(Status::ERROR_INVALID_ARGUMENT));
}

#[test]
fn kernels_of_loaded_code_have_their_attributes() {
    let runtime = open();
    let agent = runtime.agents().expect("agents").remove(0);
    let code: Arc<[u8]> = Arc::from(*b"\x7fELF");
    fake::take_log();
    let executable = runtime.load(Arc::clone(&code), &[&agent]).expect("code");
    assert_eq!(Arc::strong_count(&code), 2, "the bytes live as long as the executable");
    let kernel = executable.kernel("add.kd", &agent).expect("a kernel");
    assert_eq!((kernel.object, kernel.kernarg_size, kernel.kernarg_alignment), (0x1234_5678_9abc, 40, 8));
    assert_eq!((kernel.group_size, kernel.private_size), (256, 0));
    let error = executable.kernel("sub.kd", &agent).expect_err("there is none");
    assert_eq!(error.status(), Some(Status::ERROR_INVALID_SYMBOL_NAME));
    assert!(matches!(executable.kernel("a\0b", &agent), Err(Error::NulByte(_))));
    drop((agent, runtime, executable));
    assert_eq!(
        fake::take_log(),
        ["reader_create", "load", "freeze", "executable_destroy", "reader_destroy", "shut_down"]
    );
    assert_eq!(Arc::strong_count(&code), 1);
}

#[test]
fn a_failed_load_leaks_nothing() {
    let runtime = open();
    let agent = runtime.agents().expect("agents").remove(0);
    fake::take_log();
    let error = runtime.load(Arc::from(*b"text"), &[&agent]).expect_err("not a code object");
    assert_eq!(error.status(), Some(Status::ERROR_INVALID_CODE_OBJECT));
    assert!(error.remedy().expect("a remedy").contains("HSA_OVERRIDE_GFX_VERSION"));
    assert_eq!(fake::take_log(), ["reader_create", "executable_destroy", "reader_destroy"]);
}
