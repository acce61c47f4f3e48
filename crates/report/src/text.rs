//! Numbers and durations in readable form.

use std::time::Duration;

/// A count with separated thousands: `12_345_678` becomes `12,345,678`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things, as in `1 state` and `2,000 states`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A number of bytes, with the largest unit that leaves a number above one.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A duration, with about three digits.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_secs() {
        0 if seconds < 0.001 => format!("{:.0} µs", seconds * 1e6),
        0 => format!("{:.1} ms", seconds * 1e3),
        1..60 => format!("{seconds:.2} s"),
        60..3600 => format!("{} min {:02} s", duration.as_secs() / 60, duration.as_secs() % 60),
        whole => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// The reason for an unknown verdict, in words; the names of other reasons are used as they are.
pub(crate) fn reason_words(name: &str) -> String {
    match name {
        "other-violation" => "the search ended with another violation".to_owned(),
        "unchecked" => "not checked".to_owned(),
        other => other.replace('-', " "),
    }
}

/// A position in a line: the file, the line, and the column if it is known.
pub(crate) fn place(file: Option<&str>, line: Option<u32>, column: Option<u32>) -> Option<String> {
    let (file, line) = file.zip(line)?;
    Some(column.map_or_else(|| format!("{file}:{line}"), |column| format!("{file}:{line}:{column}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_can_read_them() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
        assert_eq!([counted(0, "step"), counted(1, "step"), counted(2_000, "step")], ["0 steps", "1 step", "2,000 steps"]);
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(duration(Duration::from_micros(12)), "12 µs");
        assert_eq!(duration(Duration::from_millis(1_500)), "1.50 s");
        assert_eq!(duration(Duration::from_secs(61)), "1 min 01 s");
        assert_eq!(duration(Duration::from_secs(7_260)), "2 h 01 min");
    }
}
