//! The models: the project's own, and the public benchmark set next to the repository.
//!
//! The benchmark set (Promela versions of BEEM's models, Pelánek 2007) is large and not ours to
//! copy, so it may be absent. Every command then says so and uses the other models.

use crate::{Failure, root};
use bytecode::Verified;
use languages::{Files, Input};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// A model on disk.
#[derive(Clone, Debug)]
pub struct Model {
    /// Folder and name without ending, as in `beem/at.4`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl Model {
    /// The model in a file.
    pub fn at(path: &Path) -> Model {
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let folder = path.parent().and_then(Path::file_name).map(|folder| folder.to_string_lossy().into_owned());
        let name = folder.map_or_else(|| stem.clone(), |folder| format!("{folder}/{stem}"));
        Model { name, path: path.to_path_buf() }
    }

    /// Whether SPIN can read it.
    pub fn is_promela(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending != "epa" && ending != "epb")
    }

    /// Reads and translates it.
    pub fn load(&self) -> Result<Verified, Failure> {
        let bytes = fs::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))?;
        self.translate(&bytes)
    }

    /// Translates the given contents of it.
    pub fn translate(&self, bytes: &[u8]) -> Result<Verified, Failure> {
        let name = self.path.display().to_string();
        let source = Input { name: &name, bytes, defines: &[], formulas: &[], files: &mut Beside };
        let loaded = languages::load(source).map_err(|rejected| source::render_all(&rejected.map, &rejected.diagnostics))?;
        loaded.model.into_program().ok_or_else(|| format!("{name}: not a program"))
    }
}

/// Reads included files, which are next to the file that names them.
struct Beside;

impl Files for Beside {
    fn read(&mut self, wanted: &str, from: &str) -> Result<(String, String), String> {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(wanted);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path.display().to_string(), text))
    }
}

/// The location of the benchmark set.
#[derive(clap::Args)]
pub struct Corpus {
    /// Folder of the benchmark set
    #[arg(long = "corpus", value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Corpus {
    /// The models of the benchmark set, by name; none, and a message, if it is absent.
    pub fn models(&self) -> Result<Vec<Model>, Failure> {
        let folder = self.folder.clone().unwrap_or_else(|| root().join("../shared/models/beem"));
        if folder.is_dir() {
            return within(&folder, &|_| true);
        }
        testkit::passed_over(&format!(
            "the benchmark set is not in {}: only the project's own models; `--corpus FOLDER` names another folder",
            folder.display()
        ));
        Ok(Vec::new())
    }
}

/// The models in an order in which those of one family, such as `at.1` and `at.4`, are far apart,
/// and families follow one another in no particular order. So the first few are a sample of all.
pub fn spread(models: &[Model]) -> Vec<&Model> {
    let mut families: BTreeMap<&str, VecDeque<&Model>> = BTreeMap::new();
    for model in models {
        let family = model.name.split_once('.').map_or(&*model.name, |(family, _)| family);
        families.entry(family).or_default().push_back(model);
    }
    let mut families: Vec<_> = families.into_values().collect();
    let mut random = 5;
    for last in (1..families.len()).rev() {
        families.swap(last, splitmix::next(&mut random) as usize % (last + 1));
    }
    let mut order = Vec::new();
    while order.len() < models.len() {
        // The last model of a family is the largest, and only large ones are measured.
        order.extend(families.iter_mut().filter_map(VecDeque::pop_back));
    }
    order
}

/// All models of the project.
pub fn own() -> Result<Vec<Model>, Failure> {
    within(&root().join("models"), &|_| true)
}

/// The models of the project that are realistic programs: not those that test a single rule of a
/// language, and not those that show differences to SPIN.
pub fn examples() -> Result<Vec<Model>, Failure> {
    within(&root().join("models"), &|folder| !folder.ends_with("language") && !folder.ends_with("differences"))
}

/// The models in a folder and in its wanted subfolders, by name.
fn within(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<Model>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let known = path.file_name().is_some_and(|name| languages::language(&name.to_string_lossy(), &[]).is_some());
            if path.is_dir() && wanted(&path) {
                folders.push(path);
            } else if known && path.extension().is_none_or(|ending| ending != "aut") {
                // A graph is not a program: there is nothing to translate and no second engine.
                found.push(Model::at(&path));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_spread() {
        let names = ["at.1", "at.4", "bakery.2", "bakery.7", "cambridge.3", "peterson"];
        let models = names.map(|name| Model::at(Path::new(&format!("set/{name}.pml"))));
        let order: Vec<&str> = spread(&models).into_iter().map(|model| model.name.as_str()).collect();
        let mut first: Vec<&str> = order[..4].to_vec();
        first.sort_unstable();
        assert_eq!(first, ["set/at.4", "set/bakery.7", "set/cambridge.3", "set/peterson"]);
        assert_eq!(order.len(), names.len());
    }
}
