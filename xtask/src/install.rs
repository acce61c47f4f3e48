//! `cargo xtask install`: installs the program, and the library for C with its header and its
//! `pkg-config` file, in a folder of the user.

use crate::{Failure, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The destination.
#[derive(clap::Args)]
pub struct Arguments {
    /// Install below this folder: bin, include, lib, lib/pkgconfig
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
}

/// The `pkg-config` file, with placeholders for the installation folder.
const TEMPLATE: &str = include_str!("../../crates/capi/everypath.pc.in");

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(root()).args(["build", "--release", "-p", "cli", "-p", "capi"]);
    let status = build.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !status.success() {
        return Err("the build failed".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder));
    for file in place(&target.join("release"), &arguments.prefix)? {
        println!("{}", file.display());
    }
    Ok(())
}

/// Copies the files from the folder `built` to their destinations below `prefix`. Returns the
/// installed files.
fn place(built: &Path, prefix: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
    fs::create_dir_all(prefix).map_err(|error| failed(prefix, error))?;
    let prefix = &fs::canonicalize(prefix).map_err(|error| failed(prefix, error))?;
    let (program, shared) = (format!("everypath{}", std::env::consts::EXE_SUFFIX), shared_library());
    let header = root().join("crates/capi/include/everypath.h");
    let mut files = Vec::new();
    for (from, to) in [
        (built.join(&program), prefix.join("bin").join(&program)),
        (built.join("libeverypath_c.a"), prefix.join("lib/libeverypath_c.a")),
        (built.join(&shared), prefix.join("lib").join(&shared)),
        (header, prefix.join("include/everypath.h")),
    ] {
        let folder = to.parent().unwrap_or(prefix);
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        // A running program cannot be overwritten, but it can be replaced.
        let _ = fs::remove_file(&to);
        fs::copy(&from, &to).map_err(|error| failed(&from, error))?;
        files.push(to);
    }
    let folder = prefix.join("lib/pkgconfig");
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let description = folder.join("everypath.pc");
    let text = TEMPLATE.replace("@prefix@", &prefix.to_string_lossy()).replace("@version@", env!("CARGO_PKG_VERSION"));
    fs::write(&description, text).map_err(|error| failed(&description, error))?;
    files.push(description);
    Ok(files)
}

/// The name of the shared library on this system.
fn shared_library() -> String {
    format!("{}everypath_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_place() {
        let folder = std::env::temp_dir().join(format!("everypath-install-{}", std::process::id()));
        let (built, prefix) = (folder.join("built"), folder.join("prefix"));
        fs::create_dir_all(&built).expect("a folder");
        assert!(place(&built, &prefix).is_err(), "nothing was built");
        for name in [format!("everypath{}", std::env::consts::EXE_SUFFIX), "libeverypath_c.a".to_owned(), shared_library()] {
            fs::write(built.join(name), "built").expect("a file");
        }
        for _ in 0..2 {
            let files = place(&built, &prefix).expect("it was built");
            assert_eq!(files.len(), 5);
            assert!(files.iter().all(|file| file.exists()), "{files:?}");
        }
        let text = fs::read_to_string(prefix.join("lib/pkgconfig/everypath.pc")).expect("it was written");
        assert!(!text.contains('@') && text.contains("\nVersion: ") && text.contains("Libs.private: "), "{text}");
        let first = text.lines().next().and_then(|line| line.strip_prefix("prefix=")).expect("a prefix");
        assert_eq!(Path::new(first), fs::canonicalize(&prefix).expect("it is there"));
        fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
