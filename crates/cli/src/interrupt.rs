//! Ctrl-C and a termination signal ask the engine to stop and report its results. The second signal
//! ends the process at once.

use contract::Cancel;
use signal_hook::consts;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code of a process that a signal has ended, as shells report it for an interrupt.
pub const KILLED: i32 = 130;

#[cfg(unix)]
const REQUESTS: &[i32] = &[consts::SIGINT, consts::SIGTERM, consts::SIGHUP];
#[cfg(not(unix))]
const REQUESTS: &[i32] = &[consts::SIGINT, consts::SIGTERM];

/// A request to stop that Ctrl-C and a termination signal raise. Until this is called they end the
/// process at once.
pub fn on_signal() -> Cancel {
    let cancel = Cancel::default();
    for &signal in REQUESTS {
        // The order matters: the first handler reads the flag before the second sets it. If no
        // handler can be installed, the signal ends the process at once, which is no reason to
        // refuse the work.
        let _ = flag::register_conditional_shutdown(signal, KILLED, cancel.flag());
        let _ = flag::register(signal, cancel.flag());
    }
    cancel
}

/// Turns the signal for a file that exceeds the size limit into an error like that of a full disk,
/// instead of the end of the process.
pub fn outlive_file_limits() {
    #[cfg(unix)]
    let _ = flag::register(consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
