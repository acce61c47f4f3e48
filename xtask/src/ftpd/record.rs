//! What a command has found, printed line by line and kept in a file of `bench/runs`.

use super::server::wrong;
use crate::Failure;
use std::fs;
use std::process::Command;

/// The lines of a record.
pub struct Record {
    what: &'static str,
    text: String,
    failed: Option<String>,
}

impl Record {
    /// Begins a record with the machine, the commit and the load.
    pub fn new(what: &'static str) -> Record {
        let mut record = Record { what, text: String::new(), failed: None };
        let load = || fs::read_to_string("/proc/loadavg").unwrap_or_default().split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        record.text = format!(
            "# cargo xtask ftpd {what}, {}, commit {}, {}, load at the beginning {}\n",
            output("date", &["-u", "+%Y-%m-%dT%H:%M"]),
            output("git", &["describe", "--always", "--dirty"]),
            output("uname", &["-srm"]),
            load()
        );
        record
    }

    /// Prints a line and keeps it.
    pub fn say(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Says what is not as it should be; the command fails after the record is kept.
    pub fn fail(&mut self, line: &str) {
        self.say(line);
        self.failed = Some(line.to_owned());
    }

    /// What is not as it should be.
    pub fn result(&self) -> Result<(), Failure> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Writes the file.
    pub fn keep(&self) -> Result<(), Failure> {
        let place = crate::root().join(format!("bench/runs/{}-ftpd-{}.tsv", output("date", &["-u", "+%Y-%m-%dT%H%M"]), self.what));
        fs::write(&place, &self.text).map_err(wrong("the record"))?;
        println!("Kept in {}", place.display());
        Ok(())
    }
}

/// The first line that a program prints.
fn output(program: &str, arguments: &[&str]) -> String {
    let out = Command::new(program).args(arguments).current_dir(crate::root()).output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("?").trim().to_owned()
}
