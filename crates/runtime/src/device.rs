//! Devices as a program sees them: ports that are written and read, and lines that interrupt.
//!
//! One process of the program represents the devices: the process of the library's module `SYSTEM`
//! that receives the values that drivers write to ports and answers their reads. The run time
//! provides its answers. So a run with devices is still a path of that program's graph.

use std::time::Duration;

/// The devices of a run.
pub trait Devices: Send {
    /// Writes a value to a port, for a driver.
    fn output(&mut self, port: i32, value: i32);

    /// Reads a port, for a driver.
    fn input(&mut self, port: i32) -> u8;

    /// The interrupt lines that are raised now, one bit each. It is called after each action, so it
    /// must be fast.
    fn raised(&mut self) -> u32;

    /// Reports that a driver has received the interrupt of a line.
    fn acknowledge(&mut self, line: u32);

    /// Waits until one of these lines, one bit each, may be raised, but not much longer than
    /// `most`. Returns `false` at once if none of them will ever be raised again unless a driver
    /// acts.
    fn wait(&mut self, lines: u32, most: Duration) -> bool;
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

    fn wait(&mut self, _: u32, _: Duration) -> bool {
        false
    }
}
