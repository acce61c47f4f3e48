//! Decides what is left out when a trace is shown: steps on which its end does not depend, and
//! repetitions.
//!
//! The body of a loop that is executed forty times is shown once. A repetition is a block of steps
//! that is immediately followed by the same statements of the same processes. The values may
//! differ; those after the last repetition are shown. The last step of a trace is always shown,
//! because the violation is there, and so is the first step of its loop.

use crate::text::count;
use replay::Step;
use std::collections::HashMap;
use std::ops::Range;

/// The longest block that is searched for.
const BLOCK_MAX: usize = 64;
/// A block is shown once only if it occurs at least this often, and hides at least this many steps.
const TIMES_MIN: usize = 3;
const HIDDEN_MIN: usize = 4;

/// A piece of a trace as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A step, by its index.
    Step(usize),
    /// Steps on which the end does not depend.
    Folded(Range<usize>),
    /// A repetition: the last `block` steps are repeated `times` times, by the steps in the range.
    Again { block: usize, times: usize, steps: Range<usize> },
}

/// A repetition in words: the size of the block, how often it is repeated, the last step.
pub(crate) fn again_text(block: usize, times: usize, last: usize) -> String {
    let what = if block == 1 { "this step".to_owned() } else { format!("these {block} steps") };
    let times = if times == 1 { "once".to_owned() } else { format!("{} times", count(times as u64)) };
    format!("{what} {times} more, to step {}", count(last as u64))
}

/// Whether a step of a trace of this length is never folded.
fn is_always_shown(index: usize, steps: usize, loop_start: Option<usize>) -> bool {
    index + 1 == steps || loop_start == Some(index)
}

/// The number of steps that are folded because the end does not depend on them.
pub(crate) fn folded(kept: &[bool], loop_start: Option<usize>) -> usize {
    let all = kept.len();
    let hidden = |&(index, kept): &(usize, &bool)| !kept && !is_always_shown(index, all, loop_start);
    kept.iter().enumerate().filter(hidden).count()
}

/// The pieces of a trace. `kept` says on which steps the end depends, if that is to be shown;
/// repetitions are folded if `folding`. No piece extends across `loop_start`.
pub(crate) fn pieces(steps: &[Step], kept: Option<&[bool]>, folding: bool, loop_start: Option<usize>) -> Vec<Piece> {
    let names = numbered(steps);
    let is_kept =
        |index: usize| is_always_shown(index, steps.len(), loop_start) || kept.is_none_or(|kept| kept.get(index).copied().unwrap_or(true));
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        // A repetition may not hide the last step, so it is looked for before that step.
        let last = if at + 1 < steps.len() { steps.len() - 1 } else { steps.len() };
        let barrier = loop_start.filter(|&start| start > at).map_or(last, |start| start.min(last));
        let kept = is_kept(at);
        let end = (at..barrier).find(|&index| is_kept(index) != kept).unwrap_or(barrier);
        if kept {
            runs(&names[at..end], at, folding, &mut pieces);
        } else {
            pieces.push(Piece::Folded(at..end));
        }
        at = end;
    }
    pieces
}

/// A number for each step; steps with the same statements have the same number.
fn numbered(steps: &[Step]) -> Vec<usize> {
    let mut known = HashMap::new();
    let name = |step: &Step| {
        let who: Vec<(usize, String, Option<u32>)> =
            step.statements.iter().map(|told| (told.pid, told.text.clone(), told.position.as_ref().map(|at| at.line))).collect();
        let next = known.len();
        *known.entry(who).or_insert(next)
    };
    steps.iter().map(name).collect()
}

/// Appends consecutive steps, with repetitions folded.
fn runs(names: &[usize], first: usize, folding: bool, out: &mut Vec<Piece>) {
    let mut at = 0;
    while at < names.len() {
        let (block, times) = if folding { repetition(&names[at..]) } else { (1, 1) };
        out.extend((at..at + block).map(|index| Piece::Step(first + index)));
        let after = at + block * times;
        if times > 1 {
            out.push(Piece::Again { block, times: times - 1, steps: first + at + block..first + after });
        }
        at = after;
    }
}

/// The block with which these steps begin, and how often it occurs: the block that hides most, or a
/// single step.
fn repetition(names: &[usize]) -> (usize, usize) {
    let mut best = (1, 1);
    for block in 1..=BLOCK_MAX.min(names.len() / TIMES_MIN) {
        let same = names.iter().zip(&names[block..]).take_while(|(one, other)| one == other).count();
        let times = 1 + same / block;
        let hidden = block * (times - 1);
        if times >= TIMES_MIN && hidden >= HIDDEN_MIN && hidden > best.0 * (best.1 - 1) {
            best = (block, times);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Action;
    use replay::Statement;
    use std::sync::Arc;

    fn steps(text: &str) -> Vec<Step> {
        let step = |c: char| {
            let told = Statement { pid: 0, process: "P".to_owned(), position: None, origin: None, text: c.to_string() };
            Step {
                action: Action::new(0, 0),
                statements: vec![Arc::new(told)],
                left_out: None,
                printed: String::new(),
                because: None,
                warnings: Vec::new(),
                state: None,
                fault: None,
            }
        };
        text.chars().map(step).collect()
    }

    /// Pieces as a text: `=` for a step, `(n)` for folded ones, `[block*times]` for repetitions.
    fn shown(text: &str, kept: Option<&str>, loop_start: Option<usize>) -> String {
        let steps = steps(text);
        let kept: Option<Vec<bool>> = kept.map(|kept| kept.chars().map(|c| c == 'x').collect());
        let all = pieces(&steps, kept.as_deref(), true, loop_start);
        let one = |piece: &Piece| match piece {
            Piece::Step(index) => text.chars().nth(*index).map(String::from).unwrap_or_default(),
            Piece::Folded(steps) => format!("({})", steps.len()),
            Piece::Again { block, times, steps } => {
                assert_eq!(steps.len(), block * times);
                format!("[{block}*{times}]")
            }
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn repetitions_are_shown_once() {
        assert_eq!(shown("abc", None, None), "abc");
        assert_eq!(shown("xababababy", None, None), "xab[2*3]y");
        assert_eq!(shown("aaaaaa", None, None), "a[1*4]a");
        assert_eq!(shown("aaa", None, None), "aaa", "too short to be worth a line");
        assert_eq!(shown("abcabcabcab", None, None), "abc[3*2]ab");
        // The longer block hides more steps.
        assert_eq!(shown("aabaabaabaaba", None, None), "aab[3*3]a");
    }

    #[test]
    fn nothing_reaches_across_the_beginning_of_a_loop() {
        assert_eq!(shown("aaaaaaaa", None, Some(4)), "aaaaaaaa");
        assert_eq!(shown("aaaaaaaaaaa", None, Some(5)), "a[1*4]a[1*4]a");
    }

    #[test]
    fn the_last_step_and_the_first_of_a_loop_are_always_shown() {
        // The violation is in the last step of the last repetition.
        assert_eq!(shown("abcabcabcabc", None, None), "abc[3*2]abc");
        assert_eq!(shown("abcdef", Some("x....."), None), "a(4)f");
        assert_eq!(shown("abcdef", Some("x....."), Some(2)), "a(1)c(2)f");
        assert_eq!(folded(&[true, false, false, false, false, false], Some(2)), 3);
        assert_eq!(folded(&[false], None), 0);
        assert_eq!(shown("a", Some("."), None), "a");
    }

    #[test]
    fn what_the_end_does_not_depend_on_is_folded() {
        assert_eq!(shown("abcdef", Some("x..x.x"), None), "a(2)d(1)f");
        assert_eq!(shown("aaaaaabc", Some("xxxxxx.x"), None), "a[1*5](1)c");
    }
}
