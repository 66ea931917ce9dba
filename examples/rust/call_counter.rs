//! seismo's C API from Rust, without a crate: counts calls in all threads.
//!
//!     rustc --edition 2021 --crate-type cdylib -O call_counter.rs
//!
//! demo.py loads the library and hands it the API, whose address the capsule `seismo._core._C_API` holds.
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

pub type PyObject = c_void;
pub type PyFrameObject = c_void;
pub type PyThreadState = c_void;
pub type TraceFunc = extern "C" fn(*mut PyObject, *mut PyFrameObject, c_int, *mut PyObject) -> c_int;
pub type RefTracer = extern "C" fn(*mut PyObject, c_int, *mut c_void) -> c_int;

/// As seismo.h declares it. Look at `major` and `size` before anything else.
#[repr(C)]
pub struct SeismoApi {
    pub size: u32,
    pub major: u16,
    pub minor: u16,
    pub set_profile: extern "C" fn(TraceFunc, *mut PyObject, *mut PyThreadState, *const c_char) -> u64,
    pub set_trace: extern "C" fn(TraceFunc, *mut PyObject, *mut PyThreadState, *const c_char) -> u64,
    pub set_ref_tracer:
        extern "C" fn(RefTracer, *mut c_void, *mut PyThreadState, Option<extern "C" fn(*mut c_void)>) -> u64,
    pub remove: extern "C" fn(u64) -> c_int,
    pub is_active: extern "C" fn(u64) -> c_int,
    pub trace_opcodes: extern "C" fn(u64, *mut PyObject, c_int) -> c_int,
    pub count: extern "C" fn(c_int) -> u32,
    pub backend: extern "C" fn(c_int) -> *const c_char,
}

const PYTRACE_CALL: c_int = 0;

static CALLS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_event(_: *mut PyObject, _: *mut PyFrameObject, what: c_int, _: *mut PyObject) -> c_int {
    if what == PYTRACE_CALL {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    0
}

/// The hook, or 0 with a Python exception set. With the GIL.
///
/// # Safety
/// `api` is what the capsule holds; `chosen` ends in a zero byte, or is null.
#[no_mangle]
pub unsafe extern "C" fn counter_start(api: *const SeismoApi, chosen: *const c_char) -> u64 {
    let api = &*api;
    if api.major != 1 || (api.size as usize) < std::mem::size_of::<SeismoApi>() {
        return 0;
    }
    CALLS.store(0, Ordering::Relaxed);
    (api.set_profile)(on_event, std::ptr::null_mut(), std::ptr::null_mut(), chosen)
}

/// How many calls there were.
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn counter_stop(api: *const SeismoApi, hook: u64) -> u64 {
    ((*api).remove)(hook);
    CALLS.load(Ordering::Relaxed)
}
