//! The clock: its units expire after a time.

use std::time::{Duration, Instant};

/// The number of units.
const UNITS: usize = 8;

#[derive(Default)]
pub struct Clock {
    /// When each unit that is set expires.
    units: [Option<Instant>; UNITS],
    /// The earliest expiry.
    first: Option<Instant>,
    /// The number of calls since the time was read: reading the time takes longer than an action.
    asked: u32,
    over: bool,
}

/// The number of calls between two readings of the time.
const ROUND: u32 = 32;

impl Clock {
    /// Sets a unit to expire after some milliseconds.
    pub fn set(&mut self, unit: u8, milliseconds: i32) {
        let Some(place) = self.units.get_mut(unit as usize) else { return };
        *place = Instant::now().checked_add(Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)));
        self.renew();
    }

    fn renew(&mut self) {
        self.first = self.units.iter().flatten().min().copied();
        self.over = self.first.is_some_and(|first| first <= Instant::now());
    }

    /// The number of a unit that has expired, plus 1, or 0. Each expiry is returned once.
    pub fn next_over(&mut self) -> u8 {
        let now = Instant::now();
        let over = (0..UNITS).filter(|unit| self.units[*unit].is_some_and(|when| when <= now)).min_by_key(|unit| self.units[*unit]);
        if let Some(unit) = over {
            self.units[unit] = None;
        }
        self.renew();
        over.map_or(0, |unit| unit as u8 + 1)
    }

    /// Whether a unit has expired.
    pub fn is_over(&mut self) -> bool {
        if self.first.is_none() || self.over {
            return self.over;
        }
        self.asked += 1;
        if self.asked.is_multiple_of(ROUND) {
            self.over = self.first.is_some_and(|first| first <= Instant::now());
        }
        self.over
    }

    /// Whether a unit is set.
    pub fn is_set(&self) -> bool {
        self.first.is_some()
    }

    /// The time until a unit expires. The next call reads the time.
    pub fn next(&mut self) -> Option<Duration> {
        self.asked = ROUND - 1;
        self.first.map(|first| first.saturating_duration_since(Instant::now()))
    }
}
