//! Files that a program may include, given by name, for callers that have them in memory.

use languages::Files;
use std::collections::BTreeMap;

/// Texts by name. A file is looked up relative to the file that includes it: `parts/b.h`, included
/// by `parts/a.h` as `b.h`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Includes {
    texts: BTreeMap<String, String>,
}

impl Includes {
    /// An empty set of texts.
    pub fn new() -> Includes {
        Includes::default()
    }

    /// These texts, and one more.
    pub fn with(mut self, name: impl Into<String>, text: impl Into<String>) -> Includes {
        self.texts.insert(name.into(), text.into());
        self
    }
}

impl Files for Includes {
    fn read(&mut self, wanted: &str, from: &str) -> Result<(String, String), String> {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in wanted.split('/') {
            match part {
                "" | "." => {}
                ".." if !path.is_empty() => drop(path.pop()),
                part => path.push(part),
            }
        }
        let name = path.join("/");
        let text = self.texts.get(&name).ok_or_else(|| format!("there is no text with the name `{name}`"))?;
        Ok((name, text.clone()))
    }
}
