//! Random propositions over a random model: its globals, channels, locals and labels of processes,
//! the processes that can move, and the process that moved last. `timeout` is left out, because
//! SPIN takes it otherwise (`docs/properties.md`).

use contract::testing::Random;
use testkit::promela_gen::{Model, Stmt};

/// The definitions of `p0`, `p1` and `p2`, which random formulas and claims are made of.
pub fn definitions(model: &Model, random: &mut Random) -> String {
    (0..3).map(|number| format!("#define p{number} ({})\n", proposition(model, random))).collect()
}

fn proposition(model: &Model, random: &mut Random) -> String {
    let globals = ["x == 1", "y > 0", "b == 1", "x != y", "a[1] == 1", "x + y == 2"];
    if model.wide && random.below(2) == 0 {
        let wide =
            ["s < 0", "tt[1].s == 1", "g.f", "u > 1", "k == m1", "len(cc[0]) == 1", "cc[1]?[m1,-1]", "tt[b].d[1] == 255", "s == g.s"];
        return wide[random.below(wide.len() as u64) as usize].to_owned();
    }
    match random.below(11) {
        // SPIN does not evaluate it where a process might wait for a rendezvous.
        10 if model.channels.iter().all(|&capacity| capacity > 0) => format!("enabled({})", random.below(3)),
        0 | 1 => format!("_last == {}", random.below(3)),
        2 | 3 => of_channel(model, random).unwrap_or_else(|| "y == 2".to_owned()),
        4..=6 => of_process(model, random).unwrap_or_else(|| "x == 2".to_owned()),
        _ => globals[random.below(globals.len() as u64) as usize].to_owned(),
    }
}

/// SPIN calls it an error to poll a channel without capacity.
fn of_channel(model: &Model, random: &mut Random) -> Option<String> {
    let buffered: Vec<usize> = (0..model.channels.len()).filter(|&channel| model.channels[channel] > 0).collect();
    let channel = *buffered.get(random.below(buffered.len().max(1) as u64) as usize)?;
    Some(match random.below(3) {
        0 => format!("len(c{channel}) == {}", random.below(3)),
        1 => format!("c{channel}?[{},{}]", random.below(3), random.below(2)),
        _ => format!("c{channel}??[{},{}]", random.below(3), random.below(2)),
    })
}

/// A local variable or a label of a process that exists from the beginning.
fn of_process(model: &Model, random: &mut Random) -> Option<String> {
    let mut instances = Vec::new();
    for (number, process) in model.processes.iter().enumerate() {
        instances.extend((0..process.active.min(2)).map(|_| (number, process)));
    }
    let pid = random.below(instances.len().max(1) as u64) as usize;
    let (number, process) = *instances.get(pid)?;
    let mut labels = Vec::new();
    process.body.iter().for_each(|stmt| collect_labels(stmt, &mut labels));
    match labels.get(random.below(2 * labels.len().max(1) as u64) as usize) {
        Some(label) => Some(format!("P{number}[{pid}]@{label}")),
        None => Some(format!("P{number}[{pid}]:l == {}", random.below(2))),
    }
}

fn collect_labels<'m>(stmt: &'m Stmt, labels: &mut Vec<&'m str>) {
    match stmt {
        Stmt::If(options) | Stmt::Do(options) => options.iter().flatten().for_each(|inner| collect_labels(inner, labels)),
        // What is inside a `d_step` is no place where a process ever is.
        Stmt::DStep(_) | Stmt::Basic(_) | Stmt::Else => {}
        Stmt::Atomic(body) | Stmt::Block(body) => body.iter().for_each(|inner| collect_labels(inner, labels)),
        Stmt::Unless(main, escape) => main.iter().chain(escape).for_each(|inner| collect_labels(inner, labels)),
        Stmt::Label(name, inner) => {
            labels.push(name);
            collect_labels(inner, labels);
        }
    }
}
