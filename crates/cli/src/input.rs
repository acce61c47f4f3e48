//! Reads files: models, traces, and the files that models include.

use crate::failure::Failure;
use crate::next;
use crate::paths;
use crate::terminal;
use crate::warnings::WarningArguments;
use bytecode::{Addr, Verified};
use check::{Claim, Ctl, CtlForm, Enclosed, Measure, Saved, Selected, Subject};
use contract::Trace;
use languages::{Expression, Files, Input, NoFiles};
use logic::{AutomatonForm, PlainAutomaton};
use replay::{Narrator, Numbered, Trail};
use report::Witness;
use report::json::ViolationJson;
use source::{Diagnostic, SourceMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Models and traces are never longer than this, but the contents of a device may be endless.
const BYTES_MAX: u64 = 1 << 30;

/// A model that was accepted.
pub struct Model {
    /// Its name, relative to the working folder.
    pub name: String,
    /// The subject of the check.
    pub subject: Arc<dyn Subject>,
    /// Describes its states and steps.
    pub narrator: Narrator,
    /// Warnings about it, one sentence each.
    pub warnings: Vec<String>,
    /// The same warnings with their positions, as far as the model was read from its text.
    pub diagnostics: (SourceMap, Vec<Diagnostic>),
    /// Its text, if it was read from standard input.
    pub given: Option<Vec<u8>>,
    /// The files it was read from, and those of its texts.
    pub files: Vec<PathBuf>,
    /// The numbers that SPIN gives to its transitions, if it is a Promela model.
    numbers: Vec<(Addr, u32)>,
    /// The atoms of each expression that the user has given.
    pub expressions: Vec<Vec<u32>>,
    /// The measure of progress that the user has requested, and its text.
    pub measure: Option<(Measure, String)>,
    /// The requested properties, if not all are.
    asked: Option<Asked>,
}

/// Requested properties: those that the model states, by their names, and others.
#[derive(Clone, Default)]
struct Asked {
    names: Vec<String>,
    branching: Vec<(String, Ctl)>,
    automata: Vec<(String, Claim)>,
}

/// The properties and expressions that a command needs in addition to the model.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Temporal properties: names of properties that the model states, and formulas.
    pub ltl: &'a [String],
    /// Formulas of branching time, or files that contain one.
    pub ctl: &'a [String],
    /// A file with an automaton that accepts violations.
    pub automaton: Option<&'a Path>,
    /// Whether the automaton accepts finite runs.
    pub finite: bool,
    /// A measure of progress.
    pub measure: Option<&'a str>,
    /// Further expressions over its states.
    pub expressions: &'a [Expression],
    /// Which warnings are given, and which are errors.
    pub policy: Option<&'a WarningArguments>,
}

impl Wanted<'_> {
    fn asks(&self) -> bool {
        !self.ltl.is_empty() || !self.ctl.is_empty() || self.automaton.is_some()
    }
}

impl Model {
    fn new(name: String, model: languages::Model, warnings: Vec<String>, files: Vec<PathBuf>) -> Model {
        let subject = subject(model);
        // A trace or a saved search contains its program. The texts of the program are inputs all
        // the same: nothing is written over them.
        let texts = subject.byte_code().map(|program| program.program().files.clone()).unwrap_or_default();
        let mut files = files;
        files.extend(texts.into_iter().map(PathBuf::from).filter(|text| text.is_file()));
        let (expressions, numbers, narrator) = (Vec::new(), Vec::new(), subject.narrator());
        let (diagnostics, given) = Default::default();
        Model { name, narrator, subject, warnings, diagnostics, given, files, numbers, expressions, measure: None, asked: None }
    }

    /// The same model, restricted to the requested properties.
    fn asking(self, asked: Asked) -> Model {
        let Asked { names, branching, automata } = asked.clone();
        let subject = Arc::new(Selected { subject: self.subject, names, branching, automata });
        Model { subject, asked: Some(asked), ..self }
    }

    /// The same model with a program that has more atoms, and a measure over them.
    pub fn measured(self, program: Arc<Verified>, measure: Measure, text: String) -> Model {
        let asked = self.asked.clone();
        let model = Model { subject: Arc::new(program), measure: Some((measure, text)), asked: None, ..self };
        match asked {
            Some(asked) => model.asking(asked),
            None => model,
        }
    }

    /// Whether only a selection of its properties is asked for, or further ones.
    pub fn is_selection(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether it was read from a Promela text.
    pub fn is_promela(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// The program with SPIN's numbers for its transitions.
    pub fn numbered(&self) -> Result<Numbered<'_>, Failure> {
        match self.subject.byte_code() {
            Some(program) if self.is_promela() => Ok(Numbered::new(Arc::clone(program), &self.numbers)),
            _ => Err(Failure::Call(format!("{}: SPIN's trails are about the text of a Promela model without embedded C code", self.name))),
        }
    }

    /// A run of the model as the contents of a trace file. `folder` is the path from that file to
    /// the folder to which file names are relative.
    pub fn witness(&self, trace: Trace, violation: Option<ViolationJson>, folder: Option<String>) -> Witness {
        let Enclosed { ending, contents } = self.subject.text();
        let program = String::from_utf8_lossy(&contents).into_owned();
        Witness { model: self.name.clone(), violation, folder, ending, program, trace }
    }
}

/// Reads the model of a command. Warnings are printed; errors are returned as the failure.
pub fn model(path: &Path, defines: &[(String, String)]) -> Result<Model, Failure> {
    model_with(path, defines, &Wanted::default())
}

/// A word that was given as a formula and is not known may be the name of a property that the model
/// states.
fn or_a_name(failure: Failure, given: &[(String, String)], stated: &[String]) -> Failure {
    let Failure::Model { map, mut diagnostics } = failure else { return failure };
    if let Some(first) = diagnostics.first_mut().filter(|_| !stated.is_empty()) {
        let word = map.snippet(first.span).to_owned();
        if given.iter().any(|(_, text)| text.trim() == word) {
            let all = || format!("the properties that the model states are {}", stated.join(", "));
            first.hint = source::did_you_mean(&word, stated.iter().map(String::as_str)).or_else(|| Some(all()));
            first.fix = None;
        }
    }
    Failure::Model { map, diagnostics }
}

/// All warnings about a valid model, those of the linter included.
pub fn lint(path: &Path, defines: &[(String, String)]) -> Result<(SourceMap, Vec<Diagnostic>), Failure> {
    let name = shown_name(path);
    let contents = bytes(path)?;
    let mut disk = Disk { files: vec![path.to_owned()], names: vec![name.clone()] };
    // The errors of a model come first.
    let source = Input { name: &name, bytes: &contents, defines, formulas: &[], files: &mut disk };
    let loaded = languages::load(source).map_err(|reason| foreign(path, &contents).unwrap_or_else(|| rejected(reason)))?;
    let (map, warnings) = languages::lint(Input { name: &name, bytes: &contents, defines, formulas: &[], files: &mut disk });
    // A language without a linter may have warnings all the same.
    Ok(if warnings.is_empty() { (loaded.map, loaded.warnings) } else { (map, warnings) })
}

/// Finds out whether a warning about a valid model is an error for the user.
fn deny(policy: &WarningArguments, loaded: &languages::Loaded, source: Input<'_>) -> Result<(), Failure> {
    let diagnostics = policy.denied(&loaded.warnings);
    if !diagnostics.is_empty() {
        return Err(Failure::Model { map: loaded.map.clone(), diagnostics });
    }
    let (map, warnings) = if policy.warn.is_empty() { Default::default() } else { languages::lint(source) };
    let diagnostics = policy.denied(&warnings);
    if diagnostics.is_empty() { Ok(()) } else { Err(Failure::Model { map, diagnostics }) }
}

fn shown_name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { paths::shown(path) }
}

/// Like [`model`], with the properties and expressions of `wanted`, whose parts become atoms of the
/// model.
pub fn model_with(path: &Path, defines: &[(String, String)], wanted: &Wanted<'_>) -> Result<Model, Failure> {
    let Wanted { ltl, measure, finite, .. } = *wanted;
    let branching = wanted.ctl.iter().map(|text| branching(text)).collect::<Result<Vec<_>, _>>()?;
    let automaton = wanted.automaton.map(automaton).transpose()?;
    let name = shown_name(path);
    let contents = bytes(path)?;
    let mut disk = Disk { files: vec![path.to_owned()], names: vec![name.clone()] };
    let sums = measure.map(check::parse_measure).unwrap_or_default();
    if sums.len() > 1
        && let Some(empty) =
            sums.iter().position(|sum| sum.iter().any(|part| check::expression_of(part).is_some_and(|text| text.is_empty())))
    {
        let text = measure.unwrap_or_default();
        return Err(Failure::Call(format!("`--measure {text}`: part {} between its commas is empty", empty + 1)));
    }
    let in_measure = sums.iter().flatten().filter_map(check::expression_of);
    let mut expressions: Vec<Expression> = in_measure.map(|text| Expression::new("--measure", text)).collect();
    let in_measure = expressions.len();
    expressions.extend(branching.iter().map(|(_, _, text)| Expression::new("--ctl", text.as_str())));
    let in_automaton = automaton.iter().flat_map(GivenAutomaton::atoms);
    expressions.extend(in_automaton.map(|text| Expression::new("--automaton", text.as_str())));
    expressions.extend_from_slice(wanted.expressions);
    let mut load = |formulas: &[(String, String)]| {
        let source = Input { name: &name, bytes: &contents, defines, formulas, files: &mut disk };
        languages::load_with(source, &expressions).map_err(|reason| match foreign(path, &contents) {
            Some(failure) => failure,
            None if sums.iter().flatten().any(check::has_form_inside) && is_about(&reason, "--measure") => {
                let text = measure.unwrap_or_default();
                Failure::Call(format!(
                    "`--measure {text}`: `sum(ARRAY)` and `order(PROCESS)` can only be added and subtracted, as in `sum(a) - order(P)`; they \
                     cannot be part of another expression"
                ))
            }
            None => rejected(reason),
        })
    };
    let mut loaded = load(&[])?;
    let mut names = Vec::new();
    if !ltl.is_empty() {
        let known = subject(loaded.model.clone()).stated();
        let temporal: Vec<String> = known.iter().filter(|stated| !stated.kind.is_safety()).map(|stated| stated.name.clone()).collect();
        let stated: Vec<String> = known.into_iter().map(|stated| stated.name).collect();
        let formulas: Vec<&String> = ltl.iter().filter(|text| !stated.contains(text)).collect();
        let fresh = (1..).map(|number| if number == 1 { "formula".to_owned() } else { format!("formula_{number}") });
        let named: Vec<_> = fresh.filter(|name| !stated.contains(name)).zip(formulas).map(|(name, text)| (name, text.clone())).collect();
        if !named.is_empty() {
            loaded = load(&named).map_err(|failure| or_a_name(failure, &named, &temporal))?;
        }
        names.extend(ltl.iter().filter(|text| stated.contains(text)).cloned());
        names.extend(named.into_iter().map(|(name, _)| name));
    }
    if let Some(policy) = wanted.policy {
        policy.refuse_unknown()?;
        loaded.warnings = policy.given(loaded.warnings);
        deny(policy, &loaded, Input { name: &name, bytes: &contents, defines, formulas: &[], files: &mut disk })?;
    }
    if !loaded.warnings.is_empty() {
        // Standard error may be closed; the answer does not depend on it.
        let _ = writeln!(io::stderr(), "{}", source::render_all_in(&loaded.map, &loaded.warnings, terminal::paint()));
    }
    let warnings = loaded.warnings_in_lines();
    let mut given = loaded.expressions.into_iter();
    let atoms: Vec<u32> = given.by_ref().take(in_measure).flatten().collect();
    let mut alone = |text: &str| match given.next().as_deref() {
        Some(&[atom]) => Ok(atom),
        _ => Err(Failure::Call(format!("`{text}` is not one expression"))),
    };
    let mut asked = Asked { names, ..Asked::default() };
    for (name, form, expression) in &branching {
        asked.branching.push((name.clone(), Ctl { form: *form, atom: alone(expression)? }));
    }
    if let Some(automaton) = &automaton {
        let atoms = automaton.atoms().iter().map(|atom| alone(atom)).collect::<Result<Vec<_>, _>>()?;
        let claim = automaton.claim(&atoms, finite).map_err(|why| Failure::Call(format!("the automaton cannot be used: {why}")))?;
        asked.automata.push(("automaton".to_owned(), claim));
    }
    let mut model = Model::new(name, loaded.model, warnings, disk.files);
    if !loaded.warnings.is_empty() {
        model.diagnostics = (loaded.map, loaded.warnings);
    }
    model.given = is_standard_input(path).then_some(contents);
    (model.expressions, model.numbers) = (given.collect(), loaded.numbers);
    if let Some(text) = measure {
        let wrong = |why: check::NoMeasure| Failure::Call(format!("`--measure {text}`: {why}"));
        model = match model.subject.byte_code().cloned() {
            Some(program) => {
                let (program, measure) = check::measured(&program, &sums, &atoms).map_err(wrong)?;
                model.measured(program, measure, text.to_owned())
            }
            None => Model { measure: Some((Measure::new(&atoms).map_err(wrong)?, text.to_owned())), ..model },
        };
    }
    Ok(if wanted.asks() { model.asking(asked) } else { model })
}

/// A text that contains both a model and a program, divided.
pub fn hybrid(
    path: &Path,
    defines: &[(String, String)],
    comments: bool,
) -> Result<(languages::Hybrid, SourceMap, Vec<source::Diagnostic>), Failure> {
    let (name, contents) = (paths::shown(path), bytes(path)?);
    let mut disk = Disk { files: vec![path.to_owned()], names: vec![name.clone()] };
    languages::hybrid(Input { name: &name, bytes: &contents, defines, formulas: &[], files: &mut disk }, comments).map_err(rejected)
}

/// An LF program with processes for its environment, as text.
pub fn closed(path: &Path, values: &str) -> Result<String, Failure> {
    let (name, contents) = (paths::shown(path), bytes(path)?);
    let mut disk = Disk { files: vec![path.to_owned()], names: vec![name.clone()] };
    let defines = [("close".to_owned(), values.to_owned())];
    languages::closed(Input { name: &name, bytes: &contents, defines: &defines, formulas: &[], files: &mut disk }).map_err(rejected)
}

/// The language of a model, recognised by its name or its contents.
pub fn language_of(path: &Path) -> Result<Option<&'static str>, Failure> {
    if is_standard_input(path) {
        return Ok(None);
    }
    Ok(languages::language(&path.to_string_lossy(), &bytes(path)?).map(|language| language.name))
}

/// A formula of branching time, given directly or as the file that contains it: its name, its form
/// and the text of its expression.
fn branching(given: &str) -> Result<(String, CtlForm, String), Failure> {
    let written = if Path::new(given).is_file() { text(Path::new(given))?.trim().to_owned() } else { given.trim().to_owned() };
    match CtlForm::of(&written) {
        Some((form, expression)) => {
            let expression = expression.to_owned();
            Ok((written, form, expression))
        }
        None => {
            let forms = "`EF p`, `AG p`, `AG EF p` and `EF AG p`, where `p` is an expression over the model's variables";
            Err(Failure::Call(format!("`{written}` is not a formula that can be decided: the forms are {forms}")))
        }
    }
}

/// An automaton in a file.
enum GivenAutomaton {
    /// As plain lines. Only infinite runs of the model count.
    Plain(PlainAutomaton),
    /// In the Hanoi format or as a never claim. A run that ends stays in its last state.
    Full(logic::Automaton),
}

impl GivenAutomaton {
    fn atoms(&self) -> &Vec<String> {
        match self {
            GivenAutomaton::Plain(plain) => &plain.atoms,
            GivenAutomaton::Full(automaton) => &automaton.atoms,
        }
    }

    fn claim(&self, atoms: &[u32], finite: bool) -> Result<Claim, check::NotChecked> {
        match self {
            GivenAutomaton::Plain(plain) => Claim::of_plain(plain, atoms, finite),
            GivenAutomaton::Full(automaton) => Claim::of_automaton(automaton, atoms, finite),
        }
    }
}

/// An automaton in a file, in one of three forms.
fn automaton(path: &Path) -> Result<GivenAutomaton, Failure> {
    let contents = text(path)?;
    let mut map = SourceMap::new();
    let file = map.add(paths::shown(path), contents.as_str());
    let read = match AutomatonForm::of(&contents) {
        AutomatonForm::Hanoi => logic::read_hoa(&contents, file).map(GivenAutomaton::Full),
        AutomatonForm::Never => logic::read_never(&contents, file).map(GivenAutomaton::Full),
        AutomatonForm::Other => logic::parse_plain_automaton(&contents, file).map(GivenAutomaton::Plain),
    };
    read.map_err(|wrong| Failure::Model { map, diagnostics: vec![wrong] })
}

/// The model that is contained in a saved search. It is verified like any other. Its file names are
/// shown relative to the working folder.
pub fn saved_model(path: &Path, saved: &Saved) -> Result<Model, Failure> {
    let name = format!("{}, its program.{}", path.display(), saved.ending);
    let source = Input { name: &name, bytes: &saved.program, defines: &[], formulas: &[], files: &mut NoFiles };
    let model = languages::load(source).map_err(rejected)?.model;
    let mut warnings: Vec<String> = saved.warnings.lines().map(str::to_owned).collect();
    let mut called = saved.model.clone();
    if saved.folder.is_empty() {
        return Ok(Model::new(called, model, warnings, vec![path.to_owned()]));
    }
    let seen = |name: &str| paths::seen_from_here(path, &saved.folder, name);
    for warning in &mut warnings {
        // A warning begins with its file.
        if let Some((file, rest)) = warning.split_once(':')
            && let Some(file) = seen(file)
        {
            *warning = format!("{file}:{rest}");
        }
    }
    called = seen(&called).unwrap_or(called);
    Ok(Model::new(called, with_files(model, seen), warnings, vec![path.to_owned()]))
}

/// Whether two saved searches are of the same model, wherever its files were when it was read.
pub fn same_model(one: &Saved, other: &Saved) -> bool {
    let load = |saved: &Saved| {
        let name = format!("program.{}", saved.ending);
        let source = Input { name: &name, bytes: &saved.program, defines: &[], formulas: &[], files: &mut NoFiles };
        languages::load(source).ok().map(|loaded| subject(loaded.model))
    };
    match (load(one), load(other)) {
        (Some(one), Some(other)) => check::same_behaviour(&*one, &*other),
        _ => false,
    }
}

/// The model with its file names replaced by the results of `seen`, if there are any.
fn with_files(model: languages::Model, seen: impl Fn(&str) -> Option<String>) -> languages::Model {
    match model {
        languages::Model::Program(verified) => {
            let mut program = verified.program().clone();
            program.files.iter_mut().for_each(|name| *name = seen(name).unwrap_or_else(|| std::mem::take(name)));
            // The verifier does not depend on file names.
            languages::Model::Program(bytecode::verify(program).map_or(verified, Box::new))
        }
        // A graph is one file, and its lines are those of the copy in the saved search.
        graph @ languages::Model::Graph(_) => graph,
    }
}

/// A trace in a file in SPIN's form, with its model: the one that is named, or the one that the
/// name of the file suggests. `None` if the file is not one of SPIN's.
pub fn trail(path: &Path, named: Option<&Path>, defines: &[(String, String)]) -> Result<Option<(Witness, Model)>, Failure> {
    if is_standard_input(path) && named.is_none() {
        return Ok(None);
    }
    let contents = bytes(path)?;
    let Some(text) = std::str::from_utf8(&contents).ok().filter(|text| Trail::is_one(text) || is_trail(path) && text.trim().is_empty())
    else {
        return match named {
            Some(_) => Err(Failure::Call(format!("{}: this is none of SPIN's trails; `--model` is for them alone", path.display()))),
            None => Ok(None),
        };
    };
    let wrong = |error: replay::TrailError| Failure::Call(format!("{}: {error}", path.display()));
    let trail: Trail = text.parse().map_err(wrong)?;
    let beside = named.map(Path::to_owned).or_else(|| model_of_trail(path));
    let Some(beside) = beside else {
        return Err(Failure::Call(format!("{}: name the model of this trail with `--model MODEL`", path.display())));
    };
    let model = model(&beside, defines)?;
    let trace = model.numbered()?.follow(&trail).map_err(wrong)?;
    let steps = model.narrator.replay(&trace).map_err(|error| Failure::Replay { path: path.to_owned(), error })?;
    let violation =
        if trace.loop_start.is_some() { None } else { model.narrator.faults_at_end(&trace, &steps).first().map(ViolationJson::from) };
    Ok(Some((model.witness(trace, violation, None), model)))
}

fn is_trail(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "trail")
}

/// SPIN adds `.trail` to the name of the model, after a number if it writes several.
fn model_of_trail(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".trail")?;
    let names = [name, name.trim_end_matches(|c: char| c.is_ascii_digit())];
    names.into_iter().map(|name| path.with_file_name(name)).find(|model| model.is_file())
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
            name = next::file(path),
        )),
        None => foreign(path, &contents).unwrap_or(failure),
    })
}

/// An error that names the right command, if a trace or a saved search is given where another file
/// is needed.
fn foreign(path: &Path, contents: &[u8]) -> Option<Failure> {
    let name = next::file(path);
    if Saved::is_one(contents) {
        return Some(Failure::Call(format!("{name}: this is a saved search; resume it with `everypath check --resume {name}`")));
    }
    let trace = std::str::from_utf8(contents).ok().is_some_and(|text| Witness::from_text(text).is_ok());
    trace.then(|| Failure::Call(format!("{name}: this is a trace, not a model; `everypath replay {name}` shows it")))
}

/// The model that is contained in a trace. It is verified like any other. File names are shown
/// relative to the working folder.
pub fn traced(path: &Path, witness: &mut Witness) -> Result<Model, Failure> {
    let name = format!("{}, its program.{}", path.display(), witness.ending);
    let source = Input { name: &name, bytes: witness.program.as_bytes(), defines: &[], formulas: &[], files: &mut NoFiles };
    let model = languages::load(source).map_err(rejected)?.model;
    let whole = |name: &str, model| Model::new(name.to_owned(), model, Vec::new(), vec![path.to_owned()]);
    let Some(way) = witness.folder.clone().filter(|_| !is_standard_input(path)) else { return Ok(whole(&witness.model, model)) };
    let rename = |name: &mut String| paths::seen_from_here(path, &way, name).into_iter().for_each(|seen| *name = seen);
    rename(&mut witness.model);
    witness.violation.iter_mut().filter_map(|violation| violation.file.as_mut()).for_each(rename);
    let model = with_files(model, |name| paths::seen_from_here(path, &way, name));
    Ok(whole(&witness.model, model))
}

/// A model as a subject of a check.
fn subject(model: languages::Model) -> Arc<dyn Subject> {
    match model {
        languages::Model::Program(program) => Arc::new(Arc::<Verified>::from(program)),
        languages::Model::Graph(graph) => Arc::new(graph),
    }
}

/// A file's text.
pub fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path)?).map_err(|_| Failure::read(path, io::Error::new(io::ErrorKind::InvalidData, "it is not text")))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let contents = if is_standard_input(path) { all(&mut io::stdin()) } else { read(path) };
    contents.map_err(|error| Failure::read(path, error))
}

/// Whether the file to read is standard input: `-`.
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

/// Whether the first error is in the text of this name.
fn is_about(rejected: &languages::Rejected, name: &str) -> bool {
    rejected.diagnostics.first().is_some_and(|first| rejected.map.name(first.span.file) == name)
}

/// Reads included files, which are looked for next to the file that includes them.
struct Disk {
    /// The files that were read, and the names under which they are shown.
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
