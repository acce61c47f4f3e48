//! Sizes and durations in the usual notation: `512M`, `2GiB`, `90s`, `1h30m`.
//!
//! Sizes are powers of two, in upper or lower case and with or without `iB`; a number alone is
//! bytes. A duration without a unit is seconds.

use std::path::PathBuf;
use std::time::Duration;

/// A number of bytes.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("`{unit}` is not a unit of size; use K, M, G or T, as in 512M")),
    };
    let bytes = number * (1_u64 << shift) as f64;
    if bytes < 1.0 || bytes >= u64::MAX as f64 {
        return Err("the size must be at least one byte, and fit 64 bits".to_owned());
    }
    Ok(bytes as u64)
}

/// A folder, and the limit on its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// The limit in bytes.
    pub most: Option<u64>,
}

/// A folder, optionally with a size after a colon. A folder whose name has a colon is recognised
/// only if what follows does not look like a size, so that no limit is lost by a slip.
pub fn place(text: &str) -> Result<Place, String> {
    let (folder, most) = match text.rsplit_once(':') {
        Some((_, "")) => return Err("a size is needed after the colon".to_owned()),
        Some((folder, most)) if !most.contains('/') && most.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
            (folder, Some(size(most)?))
        }
        Some(("", _)) => ("", None),
        _ => (text, None),
    };
    if folder.is_empty() {
        return Err("the name of a folder is needed".to_owned());
    }
    Ok(Place { folder: folder.into(), most })
}

/// A folder that exists.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    match std::fs::metadata(text) {
        Ok(found) if found.is_dir() => Ok(text.into()),
        Ok(_) => Err("this is not a folder".to_owned()),
        Err(error) => Err(format!("the folder cannot be used: {error}")),
    }
}

/// A practically infinite duration that can still be added to any time.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A length of time: one or more numbers, each with its unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    loop {
        let (number, unit) = split(rest)?;
        let end = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        seconds += number
            * match &unit[..end] {
                "" | "s" | "sec" => 1.0,
                "ms" => 0.001,
                "m" | "min" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                other => return Err(format!("`{other}` is not a unit of time; use ms, s, m, h or d, as in 1h30m")),
            };
        rest = &unit[end..];
        if rest.is_empty() {
            break;
        }
    }
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= LONGEST)
        .ok_or_else(|| "the duration must be positive, and not for ever".to_owned())
}

/// A number, and the text after it.
fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = text[..end].parse().map_err(|_| format!("`{text}` does not begin with a number"))?;
    Ok((number, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("17"), Ok(17));
        assert_eq!(size("4k"), Ok(4096));
        assert_eq!(size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(size("2T"), Ok(2 << 40));
        for wrong in ["", "G", "-1", "3 apples", "0", "99999999999T", "1.2.3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn places() {
        let place = |text: &str| place(text).map(|Place { folder, most }| (folder.to_string_lossy().into_owned(), most));
        assert_eq!(place("a/b"), Ok(("a/b".to_owned(), None)));
        assert_eq!(place("a/b:2G"), Ok(("a/b".to_owned(), Some(2 << 30))));
        assert_eq!(place("c:d"), Ok(("c:d".to_owned(), None)));
        for name in ["c:./d", "c:2/", "c:2G/"] {
            assert_eq!(place(name), Ok((name.to_owned(), None)));
        }
        for wrong in ["", ":", "a:", ":2G", ":x", "a:3 apples", "a:-1", "a:+2Q", "a:.5.5", "a:2G:"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1d 2 h"), Ok(Duration::from_secs(26 * 3_600)));
        for wrong in ["", "s", "0", "5 parsecs", "-3s", "9e9999s", "9223372036854775807", "101d 99999h 36600d"] {
            let got = duration(wrong);
            assert!(got.is_err(), "{wrong}: {got:?}");
        }
    }
}
