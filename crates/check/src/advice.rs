//! Advice for a search that ends without an answer. It names the option to try next, not all
//! options.

use crate::plan::{Fair, Plan};
use crate::run::Checked;
use crate::table::{Cycles, Order, StoreKind};
use contract::{Judged, Outcome, PropertyKind, StopReason, Verdict};

/// Advice for an unknown answer, if something may help. `saved` says whether the
/// search can be resumed.
pub fn advice(plan: &Plan, outcome: &Outcome, saved: bool) -> Option<String> {
    let Verdict::Unknown(reason) = &outcome.verdict else { return None };
    let is_shared = outcome.statistics.traffic.is_some();
    let resume = if saved { "resume the search with more" } else { "give it more" };
    let sentence = match reason {
        StopReason::WorkerLost(_) if saved => "look at what the worker that is gone has said, and resume the search".to_owned(),
        StopReason::WorkerLost(_) => {
            "look at what the worker that is gone has said; a search with `--checkpoint` can be resumed from what was saved".to_owned()
        }
        // Several processes search breadth first, in memory.
        StopReason::Memory if is_shared => {
            format!("{resume} memory (`--memory`), or more processes; `--store compact` keeps every state in a few bytes")
        }
        StopReason::Time if is_shared => format!("{resume} time (`--time`), or more processes"),
        StopReason::Narrow => "use a wider beam (`--width`), or `--search best-first`, which leaves out no states".to_owned(),
        StopReason::Memory if plan.order == Order::AStar && !mostly_our_own(plan, outcome) => {
            format!(
                "{resume} memory (`--memory`), or `--search best-first --store compact`, which needs less memory and finds longer paths"
            )
        }
        StopReason::Time if plan.order.is_directed() => format!("{resume} time (`--time`), or another estimate (`--heuristic`)"),
        StopReason::Memory if mostly_our_own(plan, outcome) => {
            format!(
                "{resume} memory (`--memory`): most of the budget is what the program itself needs before the first state, and what \
                 one step needs while it is computed"
            )
        }
        StopReason::Memory => {
            let fewer_bytes = match plan.store {
                StoreKind::Plain => {
                    "`--store compact` keeps every state in a few bytes; `--store hash` and `--store bits` take less and may overlook states"
                }
                StoreKind::Hashes => "`--store bits` never needs more than its array, and overlooks states as it fills",
                StoreKind::Cache => "`--store compact` keeps every state in a few bytes",
                StoreKind::Bits if plan.order == Order::Depth => return Some(format!("{resume} memory (`--memory`)")),
                StoreKind::Bits => "`--search dfs` keeps fewer states waiting",
                StoreKind::Disk => return Some(format!("{resume} memory (`--memory`): a search on disk needs some for its buffers")),
                // This is `compact`, or `auto`, which is compact by now.
                _ => {
                    "`--disk FOLDER` lets the search go on on disk; `--store hash` and `--store bits` take less memory and may overlook states"
                }
            };
            format!("{resume} memory (`--memory`), or store less: {fewer_bytes}{}", deeper(plan))
        }
        StopReason::Time if plan.order == Order::Depth => {
            format!("{resume} time (`--time`), or `--search dfs-shared`, which all workers share")
        }
        StopReason::Time => format!("{resume} time (`--time`), or more workers (`--threads`){}", deeper(plan)),
        StopReason::Interrupted if saved => "resume the search".to_owned(),
        StopReason::Depth if plan.order == Order::Depth => {
            "begin again with a greater `--depth`; or with `--search bfs`, which reaches every \
                                                            state by its shortest path and can go deeper from a checkpoint"
                .to_owned()
        }
        StopReason::Depth => "set a greater `--depth`".to_owned(),
        StopReason::LossyStore if plan.store == StoreKind::Bits => {
            "`--store compact` gives a definite answer if memory allows; `--bits-runs N` repeats the search with other hash functions"
                .to_owned()
        }
        StopReason::LossyStore => "`--store compact` gives a definite answer if memory allows".to_owned(),
        StopReason::Unchecked(_) => "`--only safety` leaves out temporal properties".to_owned(),
        StopReason::Storage(_) if outcome.statistics.disk.is_some() => {
            let again = if saved { "resume the search" } else { "begin again" };
            format!("make room on the disk, or allow more of it or another folder (`--disk FOLDER:SIZE`), and {again}")
        }
        StopReason::Storage(_) if is_shared => "choose a folder in which files can be created, with enough space for them".to_owned(),
        StopReason::Storage(_) => "use a disk with more space, or `--search bfs`, which needs none".to_owned(),
        _ => return None,
    };
    Some(sentence)
}

/// The same for a check of several properties. The search without an answer may be that for one of
/// them.
pub fn check_advice(plan: &Plan, checked: &Checked, saved: bool) -> Option<String> {
    let outcome = &checked.outcome;
    // Only a property with a search of its own names one.
    let same = |judged: &&Judged| judged.search.is_some() && judged.verdict == outcome.verdict;
    let temporal = match &outcome.verdict {
        Verdict::Unknown(reason) => checked.properties.iter().find(same).and_then(|judged| temporal_advice(plan, reason, judged)),
        _ => None,
    };
    temporal.or_else(|| advice(plan, outcome, saved))
}

/// Advice if the answer for a temporal property is missing. Several workers search without
/// fairness, over whole states, and not by nested searches.
fn temporal_advice(plan: &Plan, reason: &StopReason, judged: &Judged) -> Option<String> {
    let alone = format!("`--ltl {}` asks for this property alone", judged.property.name);
    let alone = if judged.property.kind == PropertyKind::Ltl { format!("; {alone}") } else { String::new() };
    let shared = plan.fairness == Fair::Any && plan.cycles != Cycles::Nested && matches!(plan.store, StoreKind::Auto | StoreKind::Plain);
    Some(match (reason, plan.store) {
        (StopReason::Memory, StoreKind::Auto) if plan.fairness == Fair::Any && plan.cycles != Cycles::Young => {
            format!("give it more memory (`--memory`), or `--disk FOLDER`, with which the search goes on on disk{alone}")
        }
        (StopReason::Memory, StoreKind::Plain) if plan.cycles != Cycles::Young => {
            format!("give it more memory (`--memory`), or `--store compact`, which keeps every state in a few bytes{alone}")
        }
        (StopReason::Time, _) if shared => format!("give it more time (`--time`), or more workers (`--threads`){alone}"),
        (StopReason::Memory, _) => format!("give it more memory (`--memory`){alone}"),
        (StopReason::Time, _) => format!("give it more time (`--time`){alone}"),
        _ => return None,
    })
}

/// Advice for finding a violation, if the search was breadth-first.
fn deeper(plan: &Plan) -> &'static str {
    match plan.order {
        Order::Auto if plan.property.is_some() => "; a short depth-first probe found no violation, `--search dfs` continues in that order",
        Order::Breadth if plan.property.is_some() => "; `--search dfs` may find a violation that lies deep",
        _ => "",
    }
}

/// As [`advice`], for a search that writes the edges: it keeps them with the states, and there is
/// no choice of store.
pub fn graph_advice(plan: &Plan, outcome: &Outcome) -> Option<String> {
    match outcome.verdict {
        Verdict::Unknown(StopReason::Memory) => {
            Some("give it more memory (`--memory`); a graph keeps all states and edges until it is written".to_owned())
        }
        Verdict::Unknown(StopReason::Time) => Some("give it more time (`--time`)".to_owned()),
        _ => advice(plan, outcome, false),
    }
}

/// Whether states and waiting states take the smaller part of the used budget.
fn mostly_our_own(plan: &Plan, outcome: &Outcome) -> bool {
    let numbers = &outcome.statistics;
    plan.limits.memory.is_some_and(|budget| numbers.store_peak_bytes.max(numbers.store_bytes) + numbers.search_bytes < budget / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Limits, Statistics};

    #[test]
    fn no_advice_names_what_was_tried() {
        for &store in StoreKind::ALL {
            for reason in [StopReason::Memory, StopReason::LossyStore] {
                if reason == StopReason::LossyStore && store.is_exact() {
                    continue;
                }
                let outcome = Outcome { verdict: Verdict::Unknown(reason), statistics: Statistics::default() };
                let advice = advice(&Plan { store, ..Plan::check() }, &outcome, false).expect("some advice");
                assert!(!advice.contains(&format!("--store {store}")), "{store}: {advice}");
            }
        }
        let advised = |plan: Plan, reason| {
            let statistics = Statistics { store_bytes: 1 << 20, ..Statistics::default() };
            advice(&plan, &Outcome { verdict: Verdict::Unknown(reason), statistics }, false).expect("some advice")
        };
        let tight = |memory| Plan { limits: Limits { memory: Some(memory), ..Limits::default() }, ..Plan::check() };
        assert!(advised(tight(16 << 20), StopReason::Memory).contains("the program itself"));
        assert!(!advised(tight(2 << 20), StopReason::Memory).contains("the program itself"));
        assert!(
            !advised(Plan { store: StoreKind::Auto, ..Plan::check() }, StopReason::Memory).contains("compact"),
            "it is compact by then"
        );
        assert!(
            !advised(Plan { order: Order::Depth, ..Plan::check() }, StopReason::Time).contains("--threads"),
            "one worker is all it has"
        );
        let known = Outcome { verdict: Verdict::Holds, statistics: Statistics::default() };
        assert_eq!(advice(&Plan::check(), &known, false), None);
    }

    /// Only a search that several workers can share is advised to use more of them.
    #[test]
    fn advice_for_a_search_for_cycles_names_what_it_can_use() {
        let advised = |plan: &Plan, reason: StopReason| {
            let (verdict, search) = (Verdict::Unknown(reason.clone()), Some("components"));
            let property = contract::Stated::of_kind(PropertyKind::Ltl);
            let judged = Judged { property, verdict, statistics: None, search, together: Vec::new(), notes: Vec::new() };
            temporal_advice(plan, &reason, &judged).expect("some advice")
        };
        let plan = Plan::check();
        assert!(advised(&plan, StopReason::Time).contains("--threads"));
        for alone in
            [Plan { fairness: Fair::Weak, ..plan }, Plan { cycles: Cycles::Nested, ..plan }, Plan { store: StoreKind::Compact, ..plan }]
        {
            assert!(!advised(&alone, StopReason::Time).contains("--threads"), "{alone:?}");
        }
        assert!(advised(&Plan { store: StoreKind::Plain, ..plan }, StopReason::Memory).contains("--store compact"));
        // It is compact by then.
        assert!(!advised(&plan, StopReason::Memory).contains("compact"));
    }
}
