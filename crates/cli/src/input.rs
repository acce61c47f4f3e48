//! Files in: models, traces, and what models include.

use crate::failure::Failure;
use crate::paths;
use bytecode::{Verified, asm};
use check::Saved;
use languages::{Files, NoFiles, Source};
use report::Witness;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No model and no trace is longer than this; a device that never ends is.
const BYTES_MAX: u64 = 1 << 30;

/// A model that was accepted.
pub struct Model {
    /// Its name, as seen from where the user is.
    pub name: String,
    /// The program.
    pub program: Arc<Verified>,
    /// What is worth knowing about it, a sentence each.
    pub warnings: Vec<String>,
    /// The files it was read from.
    pub files: Vec<PathBuf>,
}

/// Reads the model a command is about. Warnings are shown; errors are the failure.
pub fn model(path: &Path, defines: &[(String, String)]) -> Result<Model, Failure> {
    let name = if is_standard_input(path) { "standard input".to_owned() } else { paths::shown(path) };
    let contents = bytes(path)?;
    let mut disk = Disk { files: vec![path.to_owned()], names: vec![name.clone()] };
    let source = Source { name: &name, bytes: &contents, defines, files: &mut disk };
    let loaded = languages::load(source).map_err(|reason| foreign(path, &contents).unwrap_or_else(|| rejected(reason)))?;
    if !loaded.warnings.is_empty() {
        // Nobody may be listening; the answer does not depend on it.
        let _ = writeln!(io::stderr(), "{}", source::render_all(&loaded.map, &loaded.warnings));
    }
    let warnings = loaded.warnings_in_lines();
    Ok(Model { name, program: Arc::new(loaded.program), warnings, files: disk.files })
}

/// The model that travels with a saved search. It is verified like any other.
pub fn saved_model(path: &Path, saved: &Saved) -> Result<Model, Failure> {
    let name = format!("{}, its program.epb", path.display());
    let source = Source { name: &name, bytes: &saved.program, defines: &[], files: &mut NoFiles };
    let loaded = languages::load(source).map_err(rejected)?;
    let warnings = saved.warnings.lines().map(str::to_owned).collect();
    Ok(Model { name: saved.model.clone(), program: Arc::new(loaded.program), warnings, files: vec![path.to_owned()] })
}

/// Reads a trace file.
pub fn witness(path: &Path) -> Result<Witness, Failure> {
    let contents = bytes(path)?;
    let not_text = || Failure::read(path, io::Error::new(io::ErrorKind::InvalidData, "it is not text"));
    let read = std::str::from_utf8(&contents).map(Witness::from_text);
    let failure = match read {
        Ok(Ok(witness)) => return Ok(witness),
        Ok(Err(error)) => Failure::Trace { path: path.to_owned(), error },
        Err(_) => not_text(),
    };
    Err(match languages::language(&path.to_string_lossy(), &contents) {
        Some(language) => Failure::Call(format!(
            "{name}: this is a model ({}), not a trace; `everypath check {name} --trace FILE` looks for a violation and writes its trace to FILE, \
             which `everypath replay FILE` shows; `everypath simulate {name}` makes a run",
            language.name,
            name = path.display(),
        )),
        None => foreign(path, &contents).unwrap_or(failure),
    })
}

/// What to type instead, for a file of ours that is neither a model nor a trace where one of them is wanted.
fn foreign(path: &Path, contents: &[u8]) -> Option<Failure> {
    let name = path.display();
    if Saved::is_one(contents) {
        return Some(Failure::Call(format!("{name}: this is a saved search; `everypath check --resume {name}` goes on with it")));
    }
    let trace = std::str::from_utf8(contents).ok().is_some_and(|text| Witness::from_text(text).is_ok());
    trace.then(|| Failure::Call(format!("{name}: this is a trace, not a model; `everypath replay {name}` shows it")))
}

/// The program that travels with a trace. It is verified like any other. Its files, and those the trace names, get the names they have from
/// here.
pub fn program_of(path: &Path, witness: &mut Witness) -> Result<Arc<Verified>, Failure> {
    let name = format!("{}, its program.epa", path.display());
    let source = Source { name: &name, bytes: witness.program.as_bytes(), defines: &[], files: &mut NoFiles };
    let verified = languages::load(source).map_err(rejected)?.program;
    let Some(way) = witness.folder.clone().filter(|_| !is_standard_input(path)) else { return Ok(Arc::new(verified)) };
    let mut program = verified.program().clone();
    let rename = |name: &mut String| paths::seen_from_here(path, &way, name).into_iter().for_each(|seen| *name = seen);
    program.files.iter_mut().for_each(rename);
    rename(&mut witness.model);
    witness.violation.iter_mut().filter_map(|violation| violation.file.as_mut()).for_each(rename);
    // Names of files make no difference to the verifier.
    Ok(Arc::new(bytecode::verify(program).unwrap_or(verified)))
}

/// The text form of a program.
pub fn assembly(program: &Verified) -> String {
    asm::disassemble(program.program())
}

/// The binary form of a program.
pub fn binary(program: &Verified) -> Vec<u8> {
    bytecode::binary::encode(program.program())
}

/// A file's text.
pub fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path)?).map_err(|_| Failure::read(path, io::Error::new(io::ErrorKind::InvalidData, "it is not text")))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let contents = if is_standard_input(path) { all(&mut io::stdin()) } else { read(path) };
    contents.map_err(|error| Failure::read(path, error))
}

/// Whether a file to read is not one, but what comes in: `-`.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    all(&mut File::open(path)?)
}

fn all(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 1 GiB"));
    }
    Ok(contents)
}

fn rejected(rejected: languages::Rejected) -> Failure {
    Failure::Model { map: rejected.map, diagnostics: rejected.diagnostics }
}

/// Included files are looked for beside the file that includes them.
struct Disk {
    /// What was read, and the names under which that is shown.
    files: Vec<PathBuf>,
    names: Vec<String>,
}

impl Files for Disk {
    fn read(&mut self, wanted: &str, from: &str) -> Result<(String, String), String> {
        let includer = self.names.iter().position(|name| name == from).map_or(Path::new(from), |index| &self.files[index]);
        let path: PathBuf = includer.parent().unwrap_or(Path::new("")).join(wanted);
        let shown = paths::shown(&path);
        let contents = read(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let text = languages::decode(&contents).ok_or_else(|| format!("{shown} is not text"))?.into_owned();
        self.files.push(path);
        self.names.push(shown.clone());
        Ok((shown, text))
    }
}
