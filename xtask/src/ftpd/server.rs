//! The generated server: built in a folder of its own, started, looked at from outside.

use crate::{Failure, root};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The size of the file that clients retrieve, and the byte it is made of.
pub const FILE: usize = 318_000;
pub const BYTE: u8 = b'a';

/// A server that was built, in a folder that is removed at the end.
pub struct Built {
    pub folder: PathBuf,
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub fn wrong(what: &str) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| format!("{what}: {error}")
}

impl Built {
    /// Generates and builds the server; `checks` lets it find wrong uses of memory and arithmetic.
    pub fn new(everypath: &Path, checks: bool) -> Result<Built, Failure> {
        let folder = std::env::temp_dir().join(format!("everypath-xtask-ftpd-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(wrong("a folder"))?;
        let built = Built { folder };
        let example = root().join("examples/ftpd");
        let made = built.folder.join("out");
        let out = Command::new(everypath).arg("generate").arg(example.join("ftpd.pch")).arg("-o").arg(&made).output();
        let out = out.map_err(wrong("everypath"))?;
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into_owned());
        }
        fs::copy(example.join("ftp.h"), made.join("ftp.h")).map_err(wrong("ftp.h"))?;
        fs::copy(example.join("ftpd.pch"), built.folder.join("ftpd.pch")).map_err(wrong("ftpd.pch"))?;
        let mut make = Command::new("make");
        make.arg("-s").current_dir(&made);
        if checks {
            let checks = "-fsanitize=address,undefined -fno-sanitize-recover=all";
            make.arg(format!("CFLAGS=-O1 -g {checks}")).arg(format!("LDFLAGS={checks}"));
        }
        let out = make.output().map_err(wrong("make"))?;
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into_owned());
        }
        served(&built.folder.join("root"))?;
        fs::write(built.folder.join("users"), "user:secret\n").map_err(wrong("users"))?;
        Ok(built)
    }

    /// Starts it, with tracing on if a file for the trace is given.
    pub fn start(&self, trace: Option<&str>) -> Result<Server, Failure> {
        let trace: Vec<(&str, &str)> = trace.map(|trace| ("EP_TRACE", trace)).into_iter().collect();
        self.start_with(&trace)
    }

    /// Starts it with more settings.
    pub fn start_with(&self, settings: &[(&str, &str)]) -> Result<Server, Failure> {
        let reports = self.folder.join("report");
        let options = format!("log_path={}:detect_leaks=1", reports.display());
        Server::start(|port| {
            let mut command = Command::new("./init");
            command.env("FTP_PORT", port.to_string()).env("FTP_ROOT", self.folder.join("root")).env("FTP_USERS", self.folder.join("users"));
            command.envs([("FTP_ANONYMOUS", "1"), ("FTP_ANONYMOUS_WRITES", "1"), ("FTP_SESSIONS", "1000"), ("FTP_PER_ADDRESS", "1000")]);
            command.env("ASAN_OPTIONS", &options).env("UBSAN_OPTIONS", &options);
            command.current_dir(self.folder.join("out"));
            command.envs(settings.iter().copied());
            command
        })
    }

    /// What the checks of memory and arithmetic have reported.
    pub fn reports(&self) -> Result<Vec<String>, Failure> {
        let files = fs::read_dir(&self.folder).map_err(wrong("the folder"))?;
        let files = files.flatten().filter(|file| file.file_name().to_string_lossy().starts_with("report"));
        Ok(files.map(|file| fs::read_to_string(file.path()).unwrap_or_default()).collect())
    }
}

/// What a server serves.
fn served(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder.join("sub")).map_err(wrong("a folder"))?;
    fs::create_dir_all(folder.join("up")).map_err(wrong("a folder"))?;
    fs::write(folder.join("file"), vec![BYTE; FILE]).map_err(wrong("a file"))?;
    fs::write(folder.join("sub/inner"), "deep\n").map_err(wrong("a file"))?;
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", folder.join("out")).map_err(wrong("a link"))?;
    Ok(())
}

/// A server that runs; it is ended at the end.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

impl Server {
    /// Starts a server on a free port, and waits until it listens.
    pub fn start(make: impl Fn(u16) -> Command) -> Result<Server, Failure> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(wrong("a port"))?.port();
        let mut command = make(port);
        let child = command.stdout(Stdio::null()).stdin(Stdio::null()).spawn().map_err(wrong("the server"))?;
        let mut server = Server { child, port };
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(50));
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("the server ended: {status}"));
            }
        }
        Err("the server does not listen".to_owned())
    }

    /// The process that accepts connections: the only one that `init` has started.
    fn listener(&self) -> Option<u32> {
        children(self.child.id()).first().copied()
    }

    /// How many sessions there are, and how many descriptors the listener has. Nothing if it is
    /// gone.
    pub fn load(&self) -> Option<(usize, usize)> {
        let listener = self.listener()?;
        let descriptors = fs::read_dir(format!("/proc/{listener}/fd")).ok()?.count();
        Some((children(listener).len(), descriptors))
    }

    /// Waits until no session is left; an error says what is.
    pub fn quiet(&self, descriptors: usize) -> Result<(), Failure> {
        let mut load = None;
        for _ in 0..300 {
            load = self.load();
            if load.is_some_and(|(sessions, open)| sessions == 0 && open <= descriptors) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(format!("sessions and descriptors that are left: {load:?}, at the beginning 0 and {descriptors}"))
    }
}
