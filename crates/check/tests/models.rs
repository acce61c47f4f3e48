//! Every model of the project, through every combination of parts: what its header promises must be found.
//!
//! A header has one line `; expect: states=… transitions=… verdict=… violation=…`: the numbers are those of the whole state space,
//! verdict and violation those of a check.

use bytecode::Verified;
use check::{Checked, Engine, Order, Plan, StoreKind};
use contract::{Cancel, Limits, Quiet, StopReason, Verdict};
use languages::{NoFiles, Source};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

struct Model {
    name: String,
    program: Arc<Verified>,
    expected: HashMap<String, String>,
}

/// The pairs `key=value` of a line; a value with blanks is in quotes.
fn pairs(line: &str) -> HashMap<String, String> {
    let mut pairs = HashMap::new();
    let mut rest = line.trim();
    while let Some((key, behind)) = rest.split_once('=') {
        let (value, next) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => behind.split_once(' ').unwrap_or((behind, "")),
        };
        pairs.insert(key.trim().to_owned(), value.to_owned());
        rest = next.trim();
    }
    pairs
}

fn models() -> Vec<Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/asm");
    let mut models = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the models") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a text");
        let expected = text.lines().find_map(|line| line.strip_prefix("; expect:")).unwrap_or_else(|| panic!("{name} expects nothing"));
        let source = Source { name: &name, bytes: text.as_bytes(), defines: &[], files: &mut NoFiles };
        let loaded = languages::load(source).unwrap_or_else(|r| panic!("{}", source::render_all(&r.map, &r.diagnostics)));
        models.push(Model { expected: pairs(expected), name, program: Arc::new(loaded.program) });
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models
}

fn run(model: &Model, plan: &Plan) -> Checked {
    check::run(&model.program, plan, &Cancel::default(), &Quiet).expect("a sound plan")
}

/// What is different from what was promised.
fn differences(engine: Engine, order: Order, store: StoreKind, threads: usize) -> Vec<String> {
    // Enough for every model; and a bit array takes what it gets.
    let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
    let mut found = Vec::new();
    for model in models() {
        // The interpreter is slow. That it agrees on large models is seen once, not over every store.
        let large = model.expected.get("states").is_some_and(|states| states.len() > 4);
        if large && engine == Engine::Interpreter && (store, order) != (StoreKind::Plain, Order::Breadth) {
            continue;
        }
        let mut compare = |what: &str, found_value: String| {
            let promised = model.expected.get(what).cloned().unwrap_or_default();
            if promised != found_value {
                found.push(format!("{}: {what}: promised `{promised}`, found `{found_value}`", model.name));
            }
        };
        let space = run(&model, &Plan { engine, order, store, threads, limits, ..Plan::space() }).outcome;
        // A store that is not exact may overlook states; in models this small it does not, but it may not say so.
        // One that forgets counts visits, which are as many as states only where there is room for all.
        // Two workers that meet at a state in the bit array may both take it for new, because its bits are not set in one stroke.
        let counts_exactly = store != StoreKind::Bits || threads == 1;
        if counts_exactly && (store != StoreKind::Cache || !large) {
            compare("states", space.statistics.states.to_string());
            compare("transitions", space.statistics.transitions.to_string());
        }
        let checked = run(&model, &Plan { engine, order, store, threads, limits, ..Plan::check() });
        let (verdict, violation) = match &checked.outcome.verdict {
            Verdict::Holds => (if store.is_exact() { "holds" } else { "a lie" }, String::new()),
            Verdict::Violated(violation) => ("violated", violation.fault.kind.name().to_owned()),
            Verdict::Unknown(StopReason::LossyStore) if !store.is_exact() => ("holds", String::new()),
            Verdict::Unknown(reason) => ("unknown", reason.name().to_owned()),
        };
        compare("verdict", verdict.to_owned());
        compare("violation", violation);
    }
    found
}

/// One test for each engine, order, store and number of workers.
macro_rules! combinations {
    ($($name:ident: $engine:ident, $order:ident, $store:ident, $threads:literal;)*) => {
        $(#[test]
        fn $name() {
            let differences = differences(Engine::$engine, Order::$order, StoreKind::$store, $threads);
            assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
        })*

        #[test]
        fn no_combination_is_forgotten() {
            let tested = [$((Engine::$engine, Order::$order, StoreKind::$store),)*];
            for &engine in Engine::ALL {
                for &order in Order::ALL {
                    for &store in StoreKind::ALL {
                        let sound = Plan { engine, order, store, ..Plan::check() }.refuse().is_ok();
                        assert_eq!(tested.contains(&(engine, order, store)), sound, "{engine}, {order}, {store}");
                    }
                }
            }
        }
    };
}

combinations! {
    interpreter_probe_first_auto: Interpreter, Auto, Auto, 1;
    interpreter_probe_first_plain: Interpreter, Auto, Plain, 1;
    interpreter_probe_first_compact: Interpreter, Auto, Compact, 1;
    interpreter_probe_first_hashes: Interpreter, Auto, Hashes, 1;
    interpreter_probe_first_bits: Interpreter, Auto, Bits, 1;
    native_probe_first_auto: Native, Auto, Auto, 2;
    native_probe_first_plain: Native, Auto, Plain, 2;
    native_probe_first_compact: Native, Auto, Compact, 2;
    native_probe_first_hashes: Native, Auto, Hashes, 2;
    native_probe_first_bits: Native, Auto, Bits, 2;
    interpreter_breadth_first_auto: Interpreter, Breadth, Auto, 1;
    interpreter_breadth_first_plain: Interpreter, Breadth, Plain, 1;
    interpreter_breadth_first_compact: Interpreter, Breadth, Compact, 1;
    interpreter_breadth_first_hashes: Interpreter, Breadth, Hashes, 1;
    interpreter_breadth_first_bits: Interpreter, Breadth, Bits, 1;
    interpreter_depth_first_auto: Interpreter, Depth, Auto, 1;
    interpreter_depth_first_plain: Interpreter, Depth, Plain, 1;
    interpreter_depth_first_compact: Interpreter, Depth, Compact, 1;
    interpreter_depth_first_hashes: Interpreter, Depth, Hashes, 1;
    interpreter_depth_first_bits: Interpreter, Depth, Bits, 1;
    interpreter_depth_first_cache: Interpreter, Depth, Cache, 1;
    interpreter_breadth_first_auto_two_workers: Interpreter, Breadth, Auto, 2;
    interpreter_breadth_first_plain_two_workers: Interpreter, Breadth, Plain, 2;
    interpreter_breadth_first_compact_two_workers: Interpreter, Breadth, Compact, 2;
    interpreter_breadth_first_hashes_two_workers: Interpreter, Breadth, Hashes, 2;
    interpreter_breadth_first_bits_two_workers: Interpreter, Breadth, Bits, 2;
    native_breadth_first_auto: Native, Breadth, Auto, 1;
    native_breadth_first_plain: Native, Breadth, Plain, 1;
    native_breadth_first_compact: Native, Breadth, Compact, 1;
    native_breadth_first_hashes: Native, Breadth, Hashes, 1;
    native_breadth_first_bits: Native, Breadth, Bits, 1;
    native_depth_first_auto: Native, Depth, Auto, 1;
    native_depth_first_plain: Native, Depth, Plain, 1;
    native_depth_first_compact: Native, Depth, Compact, 1;
    native_depth_first_hashes: Native, Depth, Hashes, 1;
    native_depth_first_bits: Native, Depth, Bits, 1;
    native_depth_first_cache: Native, Depth, Cache, 1;
    native_breadth_first_auto_two_workers: Native, Breadth, Auto, 2;
    native_breadth_first_plain_two_workers: Native, Breadth, Plain, 2;
    native_breadth_first_compact_two_workers: Native, Breadth, Compact, 2;
    native_breadth_first_hashes_two_workers: Native, Breadth, Hashes, 2;
    native_breadth_first_bits_two_workers: Native, Breadth, Bits, 2;
    interpreter_shared_auto: Interpreter, DepthShared, Auto, 1;
    interpreter_shared_auto_two_workers: Interpreter, DepthShared, Auto, 2;
    interpreter_shared_plain: Interpreter, DepthShared, Plain, 1;
    interpreter_shared_plain_two_workers: Interpreter, DepthShared, Plain, 2;
    interpreter_shared_compact: Interpreter, DepthShared, Compact, 1;
    interpreter_shared_compact_two_workers: Interpreter, DepthShared, Compact, 2;
    interpreter_shared_hashes: Interpreter, DepthShared, Hashes, 1;
    interpreter_shared_hashes_two_workers: Interpreter, DepthShared, Hashes, 2;
    interpreter_shared_bits: Interpreter, DepthShared, Bits, 1;
    interpreter_shared_bits_two_workers: Interpreter, DepthShared, Bits, 2;
    native_shared_auto: Native, DepthShared, Auto, 1;
    native_shared_auto_two_workers: Native, DepthShared, Auto, 2;
    native_shared_plain: Native, DepthShared, Plain, 1;
    native_shared_plain_two_workers: Native, DepthShared, Plain, 2;
    native_shared_compact: Native, DepthShared, Compact, 1;
    native_shared_compact_two_workers: Native, DepthShared, Compact, 2;
    native_shared_hashes: Native, DepthShared, Hashes, 1;
    native_shared_hashes_two_workers: Native, DepthShared, Hashes, 2;
    native_shared_bits: Native, DepthShared, Bits, 1;
    native_shared_bits_two_workers: Native, DepthShared, Bits, 2;
}

#[test]
fn there_are_models() {
    assert!(models().len() >= 9);
}
