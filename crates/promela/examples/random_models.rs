//! Writes random models: `random_models FOLDER FROM COUNT` writes `FOLDER/SEED.pml`.

use testkit::promela_gen::model;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|n| n.parse().ok()).unwrap_or(0u64);
    let folder = arguments.first().map_or(".", String::as_str);
    for seed in number(1)..number(1) + number(2) {
        std::fs::write(format!("{folder}/{seed}.pml"), model(seed).text())?;
    }
    Ok(())
}
