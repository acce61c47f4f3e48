//! Devices, as a program sees them: ports that are written and read, and lines that interrupt.
//!
//! The run time provides one process of the program with what the devices say: the process of the
//! library's module `SYSTEM` that takes what drivers write to ports and answers what they read. So
//! a run with devices is still a path of that program's graph.

use std::time::Duration;

/// The devices of a run.
pub trait Devices: Send {
    /// A driver writes a value to a port.
    fn output(&mut self, port: i32, value: i32);

    /// A driver reads a port.
    fn input(&mut self, port: i32) -> u8;

    /// The interrupt lines that are raised now, a bit for each. It is asked after each action, so
    /// it must be quick.
    fn raised(&mut self) -> u32;

    /// A driver has got the interrupt of a line.
    fn acknowledge(&mut self, line: u32);

    /// Waits until a line may be raised, but not much longer than `most`. False if no line will
    /// ever be raised again unless a driver does something.
    fn wait(&mut self, most: Duration) -> bool;
}

/// No devices: every port reads 0, and no line is ever raised.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDevices;

impl Devices for NoDevices {
    fn output(&mut self, _: i32, _: i32) {}

    fn input(&mut self, _: i32) -> u8 {
        0
    }

    fn raised(&mut self) -> u32 {
        0
    }

    fn acknowledge(&mut self, _: u32) {}

    fn wait(&mut self, _: Duration) -> bool {
        false
    }
}
