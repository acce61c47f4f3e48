//! The progress of a search: states, rate, memory and depth over time, as small charts.

use crate::chart::markup::escaped;
use crate::text;
use contract::{Progress, Statistics};
use std::fmt::Write as _;
use std::time::Duration;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 24.0;

/// The most samples that are kept. If there are more, every other one is dropped.
const MOMENTS_MAX: usize = 512;

/// The progress reports of a search, from its beginning on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    moments: Vec<Progress>,
    /// One report in this many is kept.
    every: usize,
    heard: usize,
}

impl Timeline {
    /// Adds the next report. Another search may follow the last one.
    pub fn push(&mut self, progress: &Progress) {
        let every = self.every.max(1);
        self.heard += 1;
        if !self.heard.is_multiple_of(every) {
            return;
        }
        self.moments.push(*progress);
        if self.moments.len() >= MOMENTS_MAX {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.every = every * 2;
        }
    }

    /// The numbers at the end of the search. A short search has no others.
    pub fn end(&mut self, statistics: &Statistics) {
        let Statistics { states, transitions, depth, elapsed, .. } = *statistics;
        let bytes = statistics.store_bytes + statistics.search_bytes;
        let last = Progress { states, transitions, depth, bytes, elapsed, ..Progress::default() };
        // These may be the numbers of another search than the one that reported last.
        if self.moments.last().is_none_or(|before| before.elapsed < elapsed && before.states <= states) {
            self.moments.push(last);
        }
    }

    /// The reports of the last search: time begins at 0 with each.
    fn last(&self) -> &[Progress] {
        let begin = (1..self.moments.len()).rev().find(|&index| self.moments[index].elapsed < self.moments[index - 1].elapsed);
        &self.moments[begin.unwrap_or(0)..]
    }

    /// Whether there are enough samples for a picture.
    pub fn is_worth_a_picture(&self) -> bool {
        self.last().len() > 1
    }

    /// The charts as one SVG.
    pub fn svg(&self, title: &str) -> String {
        let (width, height) = (2.0 * WIDTH, 2.0 * HEIGHT + 24.0);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
             {height:.0}\" role=\"img\">\n<title>{0}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width:.0}\" \
             height=\"{height:.0}\"/>\n<text class=\"name\" x=\"12\" y=\"16\">{0}</text>\n",
            escaped(title)
        );
        let moments = self.last();
        let end = moments.last().map_or(Duration::ZERO, |last| last.elapsed).as_secs_f64().max(1e-3);
        let over = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            (0..moments.len()).map(|index| (moments[index].elapsed.as_secs_f64(), value(index))).collect()
        };
        let rate = |index: usize| {
            let before = index.checked_sub(1).map_or(Progress::default(), |before| moments[before]);
            let time = (moments[index].elapsed.saturating_sub(before.elapsed)).as_secs_f64();
            moments[index].states.saturating_sub(before.states) as f64 / time.max(1e-3)
        };
        let count = |value: f64| short(value);
        let bytes = |value: f64| text::bytes(value as u64);
        let charts = [
            chart("states", &from_zero(over(&|index| moments[index].states as f64)), end, &count),
            chart("states a second", &over(&rate), end, &count),
            chart("memory", &over(&|index| moments[index].bytes as f64), end, &bytes),
            chart("depth", &from_zero(over(&|index| moments[index].depth as f64)), end, &count),
        ];
        for (index, chart) in charts.iter().enumerate() {
            let (x, y) = ((index % 2) as f64 * WIDTH, (index / 2) as f64 * HEIGHT + 24.0);
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "<g transform=\"translate({x:.0} {y:.0})\">{chart}</g>");
        }
        out.push_str("</svg>\n");
        out
    }
}

const STYLE: &str = "\
.timeline{--paper:#fff;--ink:#243b53;--faint:#627d98;--grid:#d9e2ec;--curve:#2680c2;--under:#d9eafd}\
@media screen and (prefers-color-scheme:dark){.timeline{--paper:#16191d;--ink:#d9e2ec;--faint:#9fb3c8;--grid:#323f4b;--curve:#62b0e8;--under:#1d3a57}}\
.timeline text{font:11px system-ui,sans-serif;fill:var(--faint)}\
.timeline .name{font-weight:600;fill:var(--ink)}\
.timeline .paper{fill:var(--paper)}\
.timeline .grid{stroke:var(--grid)}\
.timeline .under{fill:var(--under)}\
.timeline .curve{fill:none;stroke:var(--curve);stroke-width:1.6}";

/// The same from the beginning on, when there was nothing.
fn from_zero(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.insert(0, (0.0, 0.0));
    points
}

/// One chart.
fn chart(name: &str, points: &[(f64, f64)], end: f64, unit: &dyn Fn(f64) -> String) -> String {
    let most = points.iter().map(|&(_, value)| value).fold(0.0, f64::max);
    let scale = round_up(most);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x = |time: f64| LEFT + (right - LEFT) * (time / end).clamp(0.0, 1.0);
    let y = |value: f64| bottom - (bottom - TOP) * (value / scale).clamp(0.0, 1.0);
    let mut out = format!("<text class=\"name\" x=\"{LEFT}\" y=\"{:.0}\">{}</text>\n", TOP - 10.0, escaped(name));
    for part in 0..=2 {
        let value = scale * f64::from(part) / 2.0;
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{right}\" y2=\"{0:.1}\"/><text x=\"{1:.0}\" y=\"{2:.1}\" \
             text-anchor=\"end\">{3}</text>",
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            escaped(&unit(value)),
        );
    }
    let begin = points.first().map_or(bottom, |&(_, value)| y(value));
    let line: String = points.iter().map(|&(time, value)| format!("L{:.1} {:.1}", x(time), y(value))).collect();
    let (under, begin) = (format!("M{LEFT} {bottom:.1}L{LEFT} {begin:.1}"), format!("M{LEFT} {begin:.1}"));
    let _ = writeln!(
        out,
        "<path class=\"under\" d=\"{under}{line}L{right} {bottom:.1}Z\"/><path class=\"curve\" d=\"{begin}{line}\"/><text x=\"{LEFT}\" \
         y=\"{0:.0}\">0</text><text x=\"{right}\" y=\"{0:.0}\" text-anchor=\"end\">{1}</text>",
        HEIGHT - 8.0,
        escaped(&text::duration(Duration::try_from_secs_f64(end).unwrap_or_default())),
    );
    out
}

/// The next number that is 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let mut scale = 1.0;
    while scale < value && scale < 1e18 {
        scale *= 10.0;
    }
    [0.1, 0.2, 0.5].into_iter().map(|part| part * scale).find(|&rounded| rounded >= value).unwrap_or(scale).max(1.0)
}

/// A number with few characters.
fn short(value: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let found = units.iter().find(|(unit, _)| value >= *unit);
    let (scaled, name) = found.map_or((value, ""), |(unit, name)| (value / unit, name));
    let digits = if scaled.fract() < 0.05 || scaled >= 100.0 { 0 } else { 1 };
    format!("{scaled:.digits$}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, states: u64) -> Progress {
        Progress { states, depth: states / 100, bytes: states * 40, elapsed: Duration::from_secs(seconds), ..Progress::default() }
    }

    #[test]
    fn long_searches_are_thinned_out() {
        let mut timeline = Timeline::default();
        (0..100_000).for_each(|second| timeline.push(&at(second, second * 1000)));
        assert!(timeline.moments.len() < MOMENTS_MAX && timeline.moments.len() > MOMENTS_MAX / 4);
        assert!(timeline.moments.windows(2).all(|pair| pair[0].elapsed < pair[1].elapsed));
        let svg = timeline.svg("a < b");
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains("27 h "), "{svg}");
    }

    #[test]
    fn the_last_search_is_drawn() {
        let mut timeline = Timeline::default();
        assert!(!timeline.is_worth_a_picture());
        [at(0, 1), at(5, 100), at(1, 7), at(2, 9)].iter().for_each(|moment| timeline.push(moment));
        assert_eq!(timeline.last().len(), 2);
        assert!(timeline.is_worth_a_picture());
    }

    #[test]
    fn scales_are_round() {
        assert_eq!([0.0, 1.0, 3.0, 12.0, 99.0, 5_001.0].map(round_up), [1.0, 1.0, 5.0, 20.0, 100.0, 10_000.0]);
        assert_eq!([0.0, 999.0, 1_500.0, 2e6].map(short), ["0", "999", "1.5k", "2M"]);
    }
}
