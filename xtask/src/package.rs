//! `cargo xtask package`: packages for users without a Rust toolchain: a Debian package, or an
//! archive with a program that needs no library of the host. Each is unpacked and used once.

use crate::{Failure, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package to build.
#[derive(clap::Args)]
pub struct Arguments {
    /// The form of the package
    #[arg(value_enum)]
    form: Form,
    /// The folder for the package
    #[arg(long, value_name = "DIR", default_value = "target/package")]
    folder: PathBuf,
}

/// A form of a package.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A Debian package
    Deb,
    /// A compressed archive with a statically linked program
    Archive,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = root().join(&arguments.folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let host = host()?;
    let is_static = arguments.form == Form::Archive;
    let program = build(&host, is_static)?;
    let name = format!("everypath-{}-{host}", env!("CARGO_PKG_VERSION"));
    let tree = folder.join(&name);
    let _ = fs::remove_dir_all(&tree);
    let made = match arguments.form {
        Form::Archive => {
            lay_out(&program, &tree)?;
            let archive = folder.join(format!("{name}.tar.gz"));
            command("tar", &folder, &["--owner=0", "--group=0", "--numeric-owner", "--sort=name", "-czf", &text(&archive), &name])?;
            archive
        }
        Form::Deb => {
            lay_out(&program, &tree.join("usr"))?;
            let control = tree.join("DEBIAN");
            let architecture = architecture(&host);
            write(&control.join("control"), &control_file(architecture, size(&tree)))?;
            let package = folder.join(format!("everypath_{}_{architecture}.deb", env!("CARGO_PKG_VERSION")));
            command("dpkg-deb", &folder, &["--root-owner-group", "--build", &text(&tree), &text(&package)])
                .map_err(|error| format!("{error}; the tree is in {}", tree.display()))?;
            package
        }
    };
    fs::remove_dir_all(&tree).map_err(|error| format!("{}: {error}", tree.display()))?;
    try_out(&made, arguments.form, &folder.join("tried"), &name)?;
    println!("{}", made.display());
    Ok(())
}

/// A model that is violated.
const MODEL: &str = "active proctype P() { assert(false) }\n";

/// Unpacks a package elsewhere and uses what is in it.
fn try_out(package: &Path, form: Form, folder: &Path, name: &str) -> Result<(), Failure> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let prefix = match form {
        Form::Archive => {
            command("tar", folder, &["-xzf", &text(package)])?;
            folder.join(name)
        }
        Form::Deb => {
            command("dpkg-deb", folder, &["-x", &text(package), &text(folder)])?;
            folder.join("usr")
        }
    };
    let program = prefix.join("bin/everypath");
    write(&folder.join("model.pml"), MODEL)?;
    let run = |arguments: &[&str]| {
        let output = Command::new(&program).current_dir(folder).args(arguments).output();
        output.map_err(|error| format!("{}: {error}", program.display()))
    };
    let checked = run(&["check", "model.pml", "--quiet"])?;
    if checked.status.code() != Some(1) {
        return Err(format!("the packaged program does not check a model: {}", String::from_utf8_lossy(&checked.stderr)));
    }
    let version = String::from_utf8_lossy(&run(&["--version"])?.stdout).into_owned();
    if !version.contains(env!("CARGO_PKG_VERSION")) {
        return Err(format!("the packaged program calls itself {version}"));
    }
    for file in ["share/man/man1/everypath-check.1.gz", "share/bash-completion/completions/everypath", "share/doc/everypath/copyright"] {
        if !prefix.join(file).is_file() {
            return Err(format!("{file} is missing in the package"));
        }
    }
    // A program that needs libraries names them to the loader.
    if let (Form::Archive, Ok(output)) = (form, Command::new("ldd").arg(&program).output()) {
        let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if !told.contains("statically linked") && !told.contains("not a dynamic executable") {
            return Err(format!("the program in the archive needs libraries:\n{told}"));
        }
    }
    fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The compiler's name for this machine.
fn host() -> Result<String, Failure> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc cannot be started: {error}"))?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned));
    host.ok_or_else(|| "rustc does not tell its host".to_owned())
}

/// Builds the program and returns its path.
fn build(host: &str, is_static: bool) -> Result<PathBuf, Failure> {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(root()).args(["build", "--release", "-p", "cli"]);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder));
    let mut built = target.join("release");
    if is_static {
        // With an explicit target, the flags do not apply to build scripts, which load libraries.
        build.args(["--target", host]).env("RUSTFLAGS", "-C target-feature=+crt-static");
        built = target.join(host).join("release");
    }
    let status = build.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !status.success() {
        return Err("the build failed".to_owned());
    }
    Ok(built.join(format!("everypath{}", std::env::consts::EXE_SUFFIX)))
}

/// Puts the program, its manual pages, its completions and its documents below a folder.
fn lay_out(program: &Path, prefix: &Path) -> Result<(), Failure> {
    let failed = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
    let copy = |from: &Path, to: &Path| {
        let folder = to.parent().unwrap_or(prefix);
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        fs::copy(from, to).map(drop).map_err(|error| failed(from, error))
    };
    copy(program, &prefix.join("bin/everypath"))?;
    let (share, manual) = (prefix.join("share"), prefix.join("share/man/man1"));
    fs::create_dir_all(&manual).map_err(|error| failed(&manual, error))?;
    let program = text(program);
    command(&program, prefix, &["man", "-o", &text(&manual)])?;
    let pages = fs::read_dir(&manual).map_err(|error| failed(&manual, error))?;
    for page in pages.filter_map(Result::ok) {
        command("gzip", prefix, &["-9nf", &text(&page.path())])?;
    }
    for (shell, place) in [
        ("bash", "bash-completion/completions/everypath"),
        ("zsh", "zsh/vendor-completions/_everypath"),
        ("fish", "fish/vendor_completions.d/everypath.fish"),
    ] {
        let output = Command::new(&program).args(["completions", shell]).output().map_err(|error| failed(Path::new(&program), error))?;
        write(&share.join(place), &String::from_utf8_lossy(&output.stdout))?;
    }
    let documents = share.join("doc/everypath");
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root().join(name), &documents.join(name))?;
    }
    let licence = "Everypath is distributed under the terms of the MIT licence or of the Apache License 2.0, at your choice.\n\
                   Both texts are beside this file.\n";
    write(&documents.join("copyright"), licence)
}

fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::write(path, contents).map_err(|error| format!("{}: {error}", path.display()))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn command(program: &str, folder: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let status = Command::new(program).current_dir(folder).args(arguments).status().map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} failed")) }
}

/// Debian's name for a machine.
fn architecture(host: &str) -> &str {
    match host.split('-').next().unwrap_or(host) {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i686" => "i386",
        other => other,
    }
}

/// The size of everything below a folder, in kibibytes.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let bytes = |path: PathBuf| if path.is_dir() { size(&path) } else { path.metadata().map_or(0, |file| file.len().div_ceil(1024)) };
    entries.map(|entry| bytes(entry.path())).sum()
}

fn control_file(architecture: &str, kibibytes: u64) -> String {
    format!(
        "Package: everypath\nVersion: {}\nArchitecture: {architecture}\nMaintainer: The Everypath developers <everypath@localhost>\nInstalled-Size: \
         {kibibytes}\nDepends: libc6, libgcc-s1\nSection: devel\nPriority: optional\nDescription: explicit-state model checker\n Everypath reads a \
         concurrent program in Promela, LF or byte-code, tries every\n path that it can take, and shows a path that violates a property.\n",
        env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_file_has_what_debian_wants() {
        let text = control_file(architecture("x86_64-unknown-linux-gnu"), 7);
        for field in ["Package: everypath\n", "Architecture: amd64\n", "Installed-Size: 7\n", "Description: ", "Maintainer: ", "Version: "]
        {
            assert!(text.contains(field), "{text}");
        }
        // The rest of a description is indented.
        assert!(text.lines().skip_while(|line| !line.starts_with("Description")).skip(1).all(|line| line.starts_with(' ')), "{text}");
    }
}
