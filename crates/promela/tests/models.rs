//! Every model of the project has the states, transitions and violations in its header. The numbers
//! are SPIN's, with one transition less, because the arrival at the initial state is not a
//! transition here.

mod common;

use common::{compile_file, expected, explore, root, verified};
use std::path::PathBuf;

fn models() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["language", "classic", "differences", "chains", "c"] {
        let folder = root().join("models/promela").join(folder);
        let entries = std::fs::read_dir(&folder).expect("the project's models");
        found.extend(entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.extension().is_some_and(|e| e == "pml")));
    }
    found.sort();
    found
}

#[test]
fn every_model_has_the_state_space_its_header_says() {
    let models = models();
    assert!(models.len() >= 75, "only {} models found", models.len());
    let mut wrong = Vec::new();
    for path in models {
        let text = std::fs::read_to_string(&path).expect("readable");
        let expected = expected(&text).unwrap_or_else(|| panic!("{} says what to expect", path.display()));
        let (map, compiled) = compile_file(&path);
        let program = verified(&map, compiled);
        let stated = states_more_than_safety(program.program());
        let space = explore(program, 100_000);
        let space = space.unwrap_or_else(|| panic!("{} has too many states", path.display()));
        // Formulas and claims are not checked here.
        let violation: Vec<String> = expected.violation.iter().filter(|kind| *kind != "property").cloned().collect();
        let verdict = if violation.is_empty() { "holds" } else { "violated" };
        if expected.states != Some(space.states)
            || expected.transitions != Some(space.transitions)
            || (!stated && expected.verdict != verdict)
            || space.violations != violation
        {
            wrong.push(format!("{}: {expected:?}, found {space:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn states_more_than_safety(program: &bytecode::Program) -> bool {
    !program.properties.is_empty() || program.labels.iter().any(|label| label.kind.accept)
}

#[test]
fn byte_code_survives_being_written_as_text() {
    for path in models() {
        let (_, compiled) = compile_file(&path);
        let program = compiled.program.expect("a program");
        let mut map = source::SourceMap::new();
        let file = map.add("text", bytecode::asm::disassemble(&program));
        match bytecode::asm::assemble(&map, file) {
            Ok(again) => assert_eq!(again, program, "{}", path.display()),
            Err(errors) => panic!("{}: {}", path.display(), source::render_all(&map, &errors)),
        }
    }
}

/// A benchmark collection that may be next to the project, with SPIN's numbers.
#[test]
fn the_small_models_of_the_corpus_have_spins_numbers() {
    let folder = root().join("../shared/models");
    let Ok(table) = std::fs::read_to_string(folder.join("expected.tsv")) else {
        testkit::passed_over("there is no collection beside the project, 0 models compared");
        return;
    };
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, "complete", states, transitions, verdict, violation, ..] = fields.as_slice() else { continue };
        let (Ok(states), Ok(transitions)) = (states.parse::<usize>(), transitions.parse::<usize>()) else { continue };
        if states > 8_000 {
            continue;
        }
        let (map, compiled) = compile_file(&folder.join(name));
        let space = explore(verified(&map, compiled), states).unwrap_or_else(|| panic!("{name}: more than {states} states"));
        assert_eq!((space.states, space.transitions + 1), (states, transitions), "{name}");
        assert_eq!(*verdict == "violated", !space.violations.is_empty(), "{name}: {space:?}");
        if *violation == "invalid end state" {
            assert!(space.violations.contains(&"invalid end state".to_owned()), "{name}: {space:?}");
        }
        compared += 1;
    }
    assert!(compared > 10, "{compared} models compared");
}
