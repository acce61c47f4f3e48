//! Ctrl-C and a request to terminate ask the engine to stop and tell what it knows. The second one does not ask.

use contract::Cancel;

/// The exit code of a process that a signal has ended, as shells report it for an interrupt.
const KILLED: i32 = 130;

/// A request to stop that Ctrl-C and a termination signal raise.
pub fn on_signal() -> Cancel {
    let cancel = Cancel::default();
    let raised = cancel.clone();
    // Without a handler the signal ends the process at once: less polite, but no reason to refuse the work.
    let _ = ctrlc::set_handler(move || {
        if raised.is_cancelled() {
            std::process::exit(KILLED);
        }
        raised.cancel();
    });
    cancel
}
