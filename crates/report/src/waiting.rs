//! The waiting processes at the end of a trace, as text.

use crate::look::{Look, wrapped};
use crate::steps::{Columns, alike, origin_text};
use crate::text::count;
use contract::Trace;
use replay::{Knot, Narrator, Wait, Waiting, Why, knot};
use source::printable;
use std::fmt::Write as _;

/// The column at which lines are wrapped if the output is not a terminal.
const WIDTH: usize = 100;

/// For each process that cannot move in the last state of a trace: its options, why they are not
/// executable, and which processes could change that; also a cycle of processes that wait for each
/// other, if there is one. Empty if nothing is known.
pub fn waiting_text(narrator: &Narrator, trace: &Trace, look: &Look) -> String {
    let waiting = narrator.waiting(trace);
    let name = |pid: usize| {
        let process = waiting.iter().find(|process| process.pid == pid);
        process.map_or_else(|| format!("process {pid}"), |process| format!("{}({pid})", process.process))
    };
    let columns = Columns::of(
        waiting.iter().map(|process| (process.process.as_str(), process.pid)),
        waiting.iter().flat_map(|process| &process.options).filter_map(|wait| wait.choice.position.as_ref()),
    );
    let mut out = String::new();
    let same = |a: &Waiting, b: &Waiting| (&a.process, a.may_end, &a.options) == (&b.process, b.may_end, &b.options);
    for (process, others) in alike(&waiting, same, look) {
        let end = if process.may_end { "  (may end here)" } else { "" };
        let mut who = name(process.pid);
        for wait in &process.options {
            let origin = origin_text(wait.choice.origin.as_ref(), wait.choice.position.as_ref());
            let what = format!("{}{origin}", printable(&wait.choice.statement));
            let line = columns.line(&who, wait.choice.position.as_ref(), &what);
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "{}", look.fit(format!("      {line}{end}")));
            out.push_str(&reason_text(wait, process, &name, look));
            who = "  or".to_owned();
        }
        if process.options.is_empty() {
            let _ = writeln!(out, "      {who}{end}");
        }
        if let [.., last] = others {
            let _ = writeln!(out, "        … and {} more like it, to {}({})", count(others.len() as u64), last.process, last.pid);
        }
    }
    let Knot { cycle, others } = knot(&waiting);
    if let [first, ..] = cycle[..] {
        let names: Vec<String> = cycle.iter().chain([&first]).map(|&pid| name(pid)).collect();
        let width = look.width.unwrap_or(WIDTH);
        let _ = writeln!(out, "\n{}", look.strong("a cycle of waiting:"));
        out.push_str(&wrapped(&names, " → ", 6, width));
        if let Some(text) = others_text(&others.iter().map(|&pid| name(pid)).collect::<Vec<_>>()) {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            wrapped(&words, " ", 6, width).lines().for_each(|line| out.push_str(&format!("{}\n", look.faint(line))));
        }
    }
    out
}

/// Why the other processes of a knot cannot break its cycle, in a sentence.
pub(crate) fn others_text(others: &[String]) -> Option<String> {
    match others {
        [] => None,
        [one] => Some(format!("{one} could end the waiting too, but waits for a process of the cycle itself")),
        [all @ .., last] => {
            Some(format!("{} and {last} could end the waiting too, but wait for processes of the cycle or for each other", all.join(", ")))
        }
    }
}

/// Why an option is not executable, in a sentence; nothing if the process may only end, and waits
/// for nothing that can be named.
pub(crate) fn why_text(why: &Why) -> Option<String> {
    Some(match why {
        Why::Unknown => return None,
        Why::Condition(values) if values.is_empty() => "it is never true".to_owned(),
        Why::Condition(values) => {
            let values: Vec<String> = values.iter().map(|named| format!("{} = {}", named.name, named.value)).collect();
            format!("false: {}", values.join(", "))
        }
        Why::Full { channel, contents } => format!("the channel {channel} is full: {contents}"),
        Why::Empty { channel } => format!("the channel {channel} is empty"),
        Why::NoMatch { channel, contents } => format!("no such message in the channel {channel}: {contents}"),
        Why::NoPartner { channel, sends: true } => format!("nobody receives on {channel}"),
        Why::NoPartner { channel, sends: false } => format!("nobody sends on {channel}"),
    })
}

/// Why an option is not executable, in lines below it.
fn reason_text(wait: &Wait, process: &Waiting, name: &dyn Fn(usize) -> String, look: &Look) -> String {
    let Some(why) = why_text(&wait.why) else { return String::new() };
    let mut words: Vec<String> = why.split(' ').map(printable).collect();
    if !wait.on.is_empty() {
        let on = wait.on.iter().map(|on| {
            let since = on.since.map(|step| format!(" (since step {step})")).unwrap_or_default();
            format!("{}{since}", name(on.pid))
        });
        let on = format!("{} waits for {}", name(process.pid), on.collect::<Vec<_>>().join(" or "));
        if let Some(last) = words.last_mut() {
            last.push(';');
        }
        words.extend(on.split(' ').map(str::to_owned));
    }
    let text = wrapped(&words, " ", 10, look.width.unwrap_or(WIDTH));
    text.lines().map(|line| format!("{}\n", look.faint(line))).collect()
}
