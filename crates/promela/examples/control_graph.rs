//! Prints the control graphs of models: `control_graph MODEL…`. Compare with `pan -d`.

use source::{SourceMap, render_all};
use std::path::Path;

fn main() {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                eprintln!("{path}: {error}");
                failed = true;
                continue;
            }
        };
        let mut map = SourceMap::new();
        let file = map.add(path.clone(), text);
        let folder = Path::new(&path).parent().map(Path::to_path_buf).unwrap_or_default();
        let mut loader = |wanted: &str, _: &str| {
            let text = std::fs::read_to_string(folder.join(wanted)).map_err(|e| e.to_string())?;
            Ok(promela::Included { name: wanted.to_owned(), text })
        };
        let (analysed, diagnostics) = promela::analyse(&mut map, file, &mut loader, &[]);
        eprint!("{}", render_all(&map, &diagnostics));
        let Some(analysed) = analysed else {
            failed = true;
            continue;
        };
        for (process, graph) in analysed.model.processes.iter().zip(&analysed.graphs) {
            print!("proctype {}\n{graph}", process.name.text);
        }
    }
    std::process::exit(i32::from(failed));
}
