//! The picture: the layout, and its SVG.
//!
//! Every process number has a column; processes that have the same number one after the other share
//! it. Columns are as wide as their texts need, and rows as high as their values need. All lengths
//! are whole pixels. Widths of texts are estimates, because the viewer chooses the font.

use super::markup::{LONG, escaped, line, shortened};
use super::{Chart, Moment, Row, StepRow, short_place};
use replay::ProcessView;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Longer statements, names and values are shortened.
const TEXT_MAX: usize = 36;
const VALUE_MAX: usize = 60;
/// If there are more values than this, they are counted instead of shown.
const VALUES_MAX: usize = 6;

const MARGIN: i64 = 16;
const NUMBERS: i64 = 48;
const LANE_MIN: i64 = 96;
const LANE_GAP: i64 = 44;
const HEAD: i64 = 26;
const BOX: i64 = 36;
const ROW_MIN: i64 = 48;
const LINE: i64 = 14;
const TITLE: i64 = 34;
/// The room above a row in which a process creates several others.
const FAMILY: i64 = 16;
/// The number of rows after which the names of the processes are repeated, for readers who scroll.
const NAMES_EVERY: usize = 20;

const STYLE: &str = "
text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2933;text-anchor:middle}
.title{font-size:14px;font-weight:bold;text-anchor:start}
.number{font-size:11px;fill:#7b8794;text-anchor:end}
.what{font-size:12px}
.where{font-size:10px;fill:#7b8794}
.value{font-size:11px;fill:#486581;text-anchor:start}
.printed{font-size:11px;fill:#8d6708;text-anchor:start}
.note{font-size:12px;fill:#7b8794}
.rule{stroke:#e4e7eb;stroke-width:1}
.life{stroke:#9aa5b1;stroke-width:1.5;stroke-dasharray:5 4}
.cut{stroke:#9aa5b1;stroke-width:1.5;fill:none}
.head{fill:#334e68;stroke:#243b53}
.name{font-size:12px;font-weight:bold;fill:#fff}
.again-name{font-size:11px;font-weight:bold;fill:#486581}
.paper{fill:#fff}
.step{fill:#f0f6fc;stroke:#627d98;stroke-width:1.2}
.end{fill:#fff;stroke:#9aa5b1;stroke-width:1.2;stroke-dasharray:4 3}
.bad{fill:#ffeeee;stroke:#cf1124;stroke-width:1.8}
.stuck{fill:#ffeeee;stroke:#cf1124;stroke-width:1.5;stroke-dasharray:4 3}
.verdict{font-size:13px;font-weight:bold;fill:#ab091e;text-anchor:start}
.banner{fill:#ffeeee;stroke:#cf1124;stroke-width:1.2}
.meet{stroke:#0b6e4f;stroke-width:2;fill:none}
.message{stroke:#2680c2;stroke-width:1.5;fill:none}
.birth{stroke:#334e68;stroke-width:1.3;stroke-dasharray:3 3;fill:none}
.loop{stroke:#6b21a8;stroke-width:1.5;stroke-dasharray:8 4}
.again{font-size:12px;fill:#6b21a8;text-anchor:start}
@media screen and (prefers-color-scheme:dark){
.paper{fill:#12181f}
text{fill:#e4e7eb}
.step{fill:#1f2f40;stroke:#829ab1}
.end{fill:#12181f}
.bad,.stuck,.banner{fill:#3a1620}
.verdict{fill:#ff9b9b}
.value{fill:#9fc5e8}
.printed{fill:#f7d070}
.where,.number,.note{fill:#9aa5b1}
.rule{stroke:#323f4b}
.message{stroke:#62b0e8}
.meet{stroke:#7fe0b5}
.birth{stroke:#9aa5b1}
.loop{stroke:#c79bf2}
.again{fill:#c79bf2}
#to-message path{fill:#62b0e8}
#to-meet path{fill:#7fe0b5}
#to-birth path{fill:#9aa5b1}
.head{fill:#486581;stroke:#627d98}
.again-name{fill:#9fc5e8}
.life,.cut{stroke:#616e7c}
}
";

/// The picture as a document of its own, or as part of a page.
pub fn document(chart: &Chart) -> String {
    let mut drawing = Drawing { chart, layout: ChartLayout::new(chart), out: String::new() };
    drawing.all();
    drawing.out
}

/// The width of a text of this many characters, in letters of 12 pixels.
fn wide(characters: usize) -> i64 {
    characters as i64 * 73 / 10
}

fn text_width(text: &str) -> i64 {
    wide(text.chars().count())
}

/// The contents of a box: a line, a smaller line, and the full text as a tooltip.
struct Words {
    what: String,
    place: String,
    story: String,
}

impl Words {
    fn of_moment(moment: &Moment) -> Words {
        Words { what: line(&moment.text(), TEXT_MAX), place: line(&moment.place(), TEXT_MAX), story: moment.story() }
    }

    /// The location of a process at the end.
    fn of_end(process: &ProcessView) -> Words {
        let what = if process.statement.is_empty() { "at its end" } else { process.statement.as_str() };
        let story = format!("{}({}) would continue with: {}", process.name, process.pid, process.statement);
        Words { what: line(what, TEXT_MAX), place: line(&short_place(process.position.as_ref()), TEXT_MAX), story }
    }

    fn width(&self) -> i64 {
        // The position is in smaller letters.
        text_width(&self.what).max(text_width(&self.place) * 10 / 12) + 16
    }
}

fn head_text(name: &str, pid: usize) -> String {
    format!("{}({pid})", line(name, TEXT_MAX - 6))
}

/// Half the width of the box with a process's name.
fn head_half(name: &str, pid: usize) -> i64 {
    text_width(&head_text(name, pid)) / 2 + 10
}

/// The values beside a step, each in a line.
fn value_lines(step: &StepRow) -> Vec<String> {
    let mut lines: Vec<String> =
        step.changes.iter().take(VALUES_MAX).map(|named| line(&format!("{} = {}", named.name, named.value), VALUE_MAX)).collect();
    if step.changes.len() > VALUES_MAX {
        lines.push(format!("… and {} more", step.changes.len() - VALUES_MAX));
    }
    lines
}

/// What was printed, in a line.
fn printed_line(step: &StepRow) -> Option<String> {
    let printed = step.printed.trim_end();
    (!printed.is_empty()).then(|| line(&format!("prints: {printed}"), VALUE_MAX))
}

fn row_height(step: &StepRow) -> i64 {
    let lines = value_lines(step).len() + usize::from(printed_line(step).is_some());
    ROW_MIN.max(lines as i64 * LINE + 12)
}

/// The positions of all parts of the picture.
struct ChartLayout {
    /// The middle of each process's column.
    lanes: BTreeMap<usize, i64>,
    /// Half the width of each box, by step and process.
    halves: BTreeMap<(usize, usize), i64>,
    /// The left edge of the values.
    values: i64,
    width: i64,
    height: i64,
    /// The top of each row.
    tops: Vec<i64>,
    /// The middle of each step's row. A hidden step is at the gap, which has the number of the
    /// first hidden step.
    middles: BTreeMap<usize, i64>,
    /// The middles of rows with the names of the processes.
    names: Vec<i64>,
    /// The middle of the row of the end.
    end: i64,
    /// The top of the banner.
    banner: i64,
}

impl ChartLayout {
    fn new(chart: &Chart) -> ChartLayout {
        let mut widths: BTreeMap<usize, i64> = BTreeMap::new();
        let mut need = |pid: usize, width: i64| {
            let lane = widths.entry(pid).or_insert(LANE_MIN);
            *lane = width.max(*lane);
        };
        let mut halves = BTreeMap::new();
        let mut values = 0;
        for life in &chart.lives {
            need(life.pid, text_width(&head_text(&life.name, life.pid)) + 20);
        }
        for process in &chart.ends {
            need(process.pid, Words::of_end(process).width());
        }
        for row in &chart.rows {
            if let Row::Step(step) = row {
                for moment in &step.moments {
                    let width = Words::of_moment(moment).width();
                    need(moment.pid, width);
                    halves.insert((step.number, moment.pid), width / 2);
                }
                values = value_lines(step).iter().chain(&printed_line(step)).map(|text| text_width(text)).fold(values, i64::max);
            }
        }
        let mut x = MARGIN + NUMBERS;
        let mut lanes = BTreeMap::new();
        for (pid, width) in widths {
            lanes.insert(pid, x + width / 2);
            x += width + LANE_GAP;
        }
        let verdict = chart.verdict().map_or(0, |verdict| text_width(&line(&verdict, 2 * VALUE_MAX)) * 13 / 12 + 20);
        let title = text_width(&line(&chart.title(), 2 * VALUE_MAX)) * 14 / 12;
        let width = (x + values).max(MARGIN + verdict).max(MARGIN + title) + MARGIN;

        let mut y = MARGIN + TITLE;
        let mut middles = BTreeMap::from([(0, y + HEAD / 2)]);
        y += HEAD + 10;
        let mut tops = Vec::with_capacity(chart.rows.len());
        let mut names = Vec::new();
        for (index, row) in chart.rows.iter().enumerate() {
            if index > 0 && index % NAMES_EVERY == 0 {
                names.push(y + HEAD / 2);
                y += HEAD;
            }
            tops.push(y);
            let above = if matches!(row, Row::Step(step) if chart.has_family(step.number)) { FAMILY } else { 0 };
            y += above;
            let height = match row {
                Row::Step(step) => row_height(step),
                Row::Loop => 30,
                Row::Gap { .. } => 44,
            };
            match row {
                Row::Step(step) => _ = middles.insert(step.number, y + height / 2),
                Row::Gap { first, .. } => _ = middles.insert(*first, y + height / 2),
                Row::Loop => {}
            }
            y += height;
        }
        let end = y + 10 + ROW_MIN / 2;
        let banner = y + 10 + ROW_MIN + 6;
        let height = if chart.violation.is_some() { banner + 30 + MARGIN } else { banner + MARGIN };
        ChartLayout { lanes, halves, values: x, width, height, tops, middles, names, end, banner }
    }

    /// The middle of a step's row.
    fn middle(&self, step: usize) -> i64 {
        self.middles.range(..=step).next_back().map_or(0, |(_, &y)| y)
    }

    /// Half the width of the box of a process in a step.
    fn half(&self, step: usize, pid: usize) -> i64 {
        self.halves.get(&(step, pid)).copied().unwrap_or(0)
    }

    fn lane(&self, pid: usize) -> i64 {
        self.lanes.get(&pid).copied().unwrap_or(MARGIN)
    }
}

struct Drawing<'c> {
    chart: &'c Chart,
    layout: ChartLayout,
    out: String,
}

/// Writing to a `String` cannot fail.
macro_rules! draw {
    ($self:ident, $($format:tt)*) => {{ let _ = writeln!($self.out, $($format)*); }};
}

impl Drawing<'_> {
    fn all(&mut self) {
        let (width, height) = (self.layout.width, self.layout.height);
        draw!(
            self,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">"
        );
        draw!(self, "<title>{}</title>", escaped(&shortened(&self.chart.title(), LONG)));
        draw!(self, "<style>{STYLE}</style>");
        draw!(self, "<defs>");
        for (name, colour) in [("meet", "#0b6e4f"), ("message", "#2680c2"), ("birth", "#334e68")] {
            draw!(
                self,
                "<marker id=\"to-{name}\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L9 4L0 8Z\" fill=\"{colour}\"/></marker>"
            );
        }
        draw!(self, "</defs>");
        draw!(self, "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>");
        let title = escaped(&line(&self.chart.title(), 2 * VALUE_MAX));
        draw!(self, "<text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{title}</text>", MARGIN + 14);
        // Later elements cover earlier ones: lines come first, boxes last.
        self.rules();
        self.lifelines();
        self.messages();
        self.births();
        self.heads();
        self.names();
        self.rows();
        self.ends();
        self.verdict();
        draw!(self, "</svg>");
    }

    /// Thin lines between the rows lead from a step to its values.
    fn rules(&mut self) {
        let right = self.layout.width - MARGIN;
        for index in 0..self.layout.tops.len() {
            let y = self.layout.tops[index];
            draw!(self, "<line class=\"rule\" x1=\"{MARGIN}\" y1=\"{y}\" x2=\"{right}\" y2=\"{y}\"/>");
        }
    }

    fn lifelines(&mut self) {
        for life in &self.chart.lives {
            let x = self.layout.lane(life.pid);
            let top = self.layout.middle(life.born);
            match life.died {
                Some(step) => {
                    let bottom = self.layout.middle(step) + BOX / 2 + 6;
                    draw!(self, "<line class=\"life\" x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>");
                    let (l, r, t, b) = (x - 6, x + 6, bottom - 5, bottom + 5);
                    draw!(self, "<path class=\"cut\" d=\"M{l} {t}L{r} {b}M{l} {b}L{r} {t}\"/>");
                }
                None => {
                    let bottom = self.layout.end;
                    draw!(self, "<line class=\"life\" x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>");
                }
            }
        }
    }

    /// Messages are drawn under the boxes, so they may run from middle to middle, except for their
    /// tips.
    fn messages(&mut self) {
        for message in &self.chart.messages {
            let (from, to) = (self.layout.lane(message.sent.pid), self.layout.lane(message.received.pid));
            let (top, bottom) = (self.layout.middle(message.sent.step), self.layout.middle(message.received.step));
            let half = self.layout.half(message.received.step, message.received.pid);
            let title = format!("sent in step {}, received in step {}", message.sent.step, message.received.step);
            let path = if from == to {
                // A message to the same process: an arc around the right side.
                let (start, tip) = (from + self.layout.half(message.sent.step, message.sent.pid), from + half);
                let out = start.max(tip) + 20;
                format!("M{start} {top}C{out} {top} {out} {bottom} {tip} {bottom}")
            } else {
                let side = if from < to { 1 } else { -1 };
                let start = from + side * self.layout.half(message.sent.step, message.sent.pid);
                format!("M{start} {top}L{} {bottom}", to - side * half)
            };
            draw!(self, "<path class=\"message\" d=\"{path}\" marker-end=\"url(#to-message)\"><title>{title}</title></path>");
        }
    }

    /// Arrows from processes to those that they create. Several that are created in one step are in
    /// one row, so their arrows run above it.
    fn births(&mut self) {
        for life in &self.chart.lives {
            let Some(parent) = life.parent.filter(|&parent| parent != life.pid) else { continue };
            let (x, y, from) = (self.layout.lane(life.pid), self.layout.middle(life.born), self.layout.lane(parent));
            let path = if self.chart.has_family(life.born) {
                let (above, start, tip) = (y - BOX / 2 - FAMILY / 2, y - BOX / 2, y - HEAD / 2);
                format!("M{from} {start}L{from} {above}L{x} {above}L{x} {tip}")
            } else {
                let side = if from < x { 1 } else { -1 };
                let half = head_half(&life.name, life.pid);
                format!("M{} {y}L{} {y}", from + side * self.layout.half(life.born, parent), x - side * half)
            };
            draw!(self, "<path class=\"birth\" d=\"{path}\" marker-end=\"url(#to-birth)\"/>");
        }
    }

    fn heads(&mut self) {
        for life in &self.chart.lives {
            let (x, y) = (self.layout.lane(life.pid), self.layout.middle(life.born));
            let text = head_text(&life.name, life.pid);
            let half = head_half(&life.name, life.pid);
            let story = escaped(&shortened(&format!("{}({})", life.name, life.pid), LONG));
            let (left, top) = (x - half, y - HEAD / 2);
            draw!(
                self,
                "<g><title>{story}</title><rect class=\"head\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{HEAD}\" rx=\"3\"/>",
                2 * half
            );
            draw!(self, "<text class=\"name\" x=\"{x}\" y=\"{}\">{}</text></g>", y + 4, escaped(&text));
        }
    }

    /// The processes that exist, by their names, between rows.
    fn names(&mut self) {
        for y in self.layout.names.clone() {
            for life in &self.chart.lives {
                let gone = life.died.is_some_and(|step| self.layout.middle(step) < y);
                if gone || self.layout.middle(life.born) > y {
                    continue;
                }
                let (x, text) = (self.layout.lane(life.pid), head_text(&life.name, life.pid));
                let half = text_width(&text) / 2 + 6;
                let (left, top) = (x - half, y - 8);
                draw!(self, "<rect class=\"paper\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"16\"/>", 2 * half);
                draw!(self, "<text class=\"again-name\" x=\"{x}\" y=\"{}\">{}</text>", y + 4, escaped(&text));
            }
        }
    }

    fn rows(&mut self) {
        let chart = self.chart;
        for (index, row) in chart.rows.iter().enumerate() {
            let top = self.layout.tops[index];
            match row {
                Row::Step(step) => self.step(step),
                Row::Loop => {
                    let (right, y) = (self.layout.width - MARGIN, top + 22);
                    draw!(self, "<line class=\"loop\" x1=\"{MARGIN}\" y1=\"{y}\" x2=\"{right}\" y2=\"{y}\"/>");
                    draw!(self, "<text class=\"again\" x=\"{MARGIN}\" y=\"{}\">from here on, again and again</text>", y - 6);
                }
                Row::Gap { text, .. } => {
                    let (middle, height) = (self.layout.width / 2, 44);
                    draw!(self, "<rect class=\"paper\" x=\"0\" y=\"{top}\" width=\"{}\" height=\"{height}\"/>", self.layout.width);
                    draw!(self, "<text class=\"note\" x=\"{middle}\" y=\"{}\">{}</text>", top + 26, escaped(text));
                }
            }
        }
    }

    fn step(&mut self, step: &StepRow) {
        let y = self.layout.middle(step.number);
        draw!(self, "<g id=\"chart-{}\">", step.number);
        draw!(self, "<text class=\"number\" x=\"{}\" y=\"{}\">{}</text>", MARGIN + NUMBERS - 18, y + 4, step.number);
        let words: Vec<(usize, Words)> = step.moments.iter().map(|moment| (moment.pid, Words::of_moment(moment))).collect();
        if let Some(((initiator, first), others)) = words.split_first() {
            for (other, word) in others {
                let (from, to) = (self.layout.lane(*initiator), self.layout.lane(*other));
                let side = if from < to { 1 } else { -1 };
                let (start, tip) = (from + side * first.width() / 2, to - side * word.width() / 2);
                draw!(self, "<path class=\"meet\" d=\"M{start} {y}L{tip} {y}\" marker-end=\"url(#to-meet)\"/>");
            }
        }
        let class = if step.fault.is_some() { "bad" } else { "step" };
        for (pid, word) in &words {
            self.boxed(class, self.layout.lane(*pid), y, word);
        }
        self.values(step, y);
        draw!(self, "</g>");
    }

    /// The values that a step changed, and what it printed.
    fn values(&mut self, step: &StepRow, y: i64) {
        let lines = value_lines(step);
        let printed = printed_line(step);
        let all = lines.iter().map(|text| ("value", text)).chain(printed.iter().map(|text| ("printed", text)));
        let count = (lines.len() + usize::from(printed.is_some())) as i64;
        let mut baseline = y - count * LINE / 2 + 11;
        let x = self.layout.values;
        for (class, text) in all {
            draw!(self, "<text class=\"{class}\" x=\"{x}\" y=\"{baseline}\">{}</text>", escaped(text));
            baseline += LINE;
        }
    }

    fn boxed(&mut self, class: &str, x: i64, y: i64, words: &Words) {
        let width = words.width();
        let (left, top) = (x - width / 2, y - BOX / 2);
        let story = escaped(&shortened(&words.story, LONG));
        draw!(
            self,
            "<g><title>{story}</title><rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BOX}\" rx=\"5\"/>"
        );
        let what = if words.place.is_empty() { y + 4 } else { y - 2 };
        draw!(self, "<text class=\"what\" x=\"{x}\" y=\"{what}\">{}</text>", escaped(&words.what));
        if !words.place.is_empty() {
            draw!(self, "<text class=\"where\" x=\"{x}\" y=\"{}\">{}</text>", y + 12, escaped(&words.place));
        }
        draw!(self, "</g>");
    }

    /// The locations of the processes at the end.
    fn ends(&mut self) {
        let chart = self.chart;
        let y = self.layout.end;
        draw!(self, "<text class=\"number\" x=\"{}\" y=\"{}\">end</text>", MARGIN + NUMBERS - 18, y + 4);
        if chart.ends.is_empty() {
            draw!(self, "<text class=\"value\" x=\"{}\" y=\"{}\">no process is left</text>", MARGIN + NUMBERS, y + 4);
        }
        for process in &chart.ends {
            let class = if chart.stuck(process) { "stuck" } else { "end" };
            self.boxed(class, self.layout.lane(process.pid), y, &Words::of_end(process));
        }
    }

    fn verdict(&mut self) {
        let Some(verdict) = self.chart.verdict() else { return };
        let (y, width) = (self.layout.banner, self.layout.width - 2 * MARGIN);
        let story = escaped(&shortened(&verdict, LONG));
        draw!(self, "<g><title>{story}</title><rect class=\"banner\" x=\"{MARGIN}\" y=\"{y}\" width=\"{width}\" height=\"30\" rx=\"3\"/>");
        let text = escaped(&line(&verdict, 2 * VALUE_MAX));
        draw!(self, "<text class=\"verdict\" x=\"{}\" y=\"{}\">{text}</text></g>", MARGIN + 10, y + 20);
    }
}
