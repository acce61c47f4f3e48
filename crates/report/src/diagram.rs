//! A directed graph as a picture: boxes in layers, labelled edges between them.
//!
//! The layers and the positions in them come from `rust-sugiyama` (Sugiyama, Tagawa, Toda, "Methods
//! for visual understanding of hierarchical system structures", 1981). A label is laid out like a
//! box: edges run through their labels, so no label hides another. The graph is laid out twice. The
//! first layout determines the layer of everything; in the second, an edge over several layers has
//! a position in each of them, so it does not run through boxes. Graphviz is not
//! needed.

use crate::chart::markup::{LONG, escaped, line, shortened};
use rust_sugiyama::configure::{Config, CrossingMinimization, RankingType};
use rust_sugiyama::from_vertices_and_edges;
use std::collections::HashMap;
use std::fmt::Write as _;

/// The most boxes and edges that are drawn. A larger picture cannot be read and takes long.
const BOXES_MAX: usize = 600;
const EDGES_MAX: usize = 1_800;
/// The number of boxes and edges from which on crossings are not reduced further, because that
/// takes long.
const CAREFUL_MAX: usize = 200;
/// The most crossings of edges with layers for which positions are computed. If there are more,
/// edges run straight.
const PASSED_MAX: usize = 2_000;
/// The size of the position of a crossing.
const PASSED: (f64, f64) = (10.0, 6.0);

const LETTER: f64 = 6.8;
const LINE: f64 = 15.0;
const PAD: f64 = 8.0;
const MARGIN: f64 = 24.0;
const TITLE: f64 = 30.0;
const TEXT_MAX: usize = 44;
const LINES_MAX: usize = 12;

/// The meaning of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoxKind {
    /// Nothing special.
    #[default]
    Plain,
    /// The initial state or location.
    Initial,
    /// A state or location in which the run may stay or end.
    End,
    /// An accepting state or location.
    Accepting,
}

/// A box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiagramBox {
    /// Its lines.
    pub lines: Vec<String>,
    /// Its meaning.
    pub kind: BoxKind,
    /// The tooltip.
    pub story: String,
}

/// A graph to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagram {
    /// The title.
    pub title: String,
    /// The boxes.
    pub boxes: Vec<DiagramBox>,
    /// Edges from box to box, with labels.
    pub edges: Vec<(usize, usize, String)>,
}

/// Why a graph is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The number of boxes.
    pub boxes: usize,
    /// The number of edges.
    pub edges: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooLarge { boxes, edges } = self;
        write!(
            f,
            "{boxes} states and {edges} transitions are too many for a picture (at most {BOXES_MAX} and {EDGES_MAX}); other tools draw a `.dot` file"
        )
    }
}

impl std::error::Error for TooLarge {}

const STYLE: &str = "\
.diagram{--paper:#fff;--ink:#243b53;--faint:#627d98;--line:#829ab1;--fill:#f0f4f8;--first:#d9eafd;--end:#e3f6ea;--accept:#fdebd0}\
@media screen and (prefers-color-scheme:dark){.diagram{--paper:#16191d;--ink:#d9e2ec;--faint:#9fb3c8;--line:#627d98;--fill:#242b33;--first:#1d3a57;--end:#1c3d2a;--accept:#4a3517}}\
.diagram text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--ink);text-anchor:middle}\
.diagram .title{font:600 15px system-ui,sans-serif;text-anchor:start}\
.diagram .paper{fill:var(--paper)}\
.diagram .label{fill:var(--faint)}\
.diagram .back{fill:var(--paper)}\
.diagram .box{fill:var(--fill);stroke:var(--line)}\
.diagram .Initial{fill:var(--first);stroke-width:2}\
.diagram .End{fill:var(--end)}\
.diagram .Accepting{fill:var(--accept)}\
.diagram .edge{fill:none;stroke:var(--line);stroke-width:1.3}\
.diagram .tip{fill:var(--line)}";

/// A box or a label, with its position.
#[derive(Clone, Copy, Default)]
struct Item {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// The pictures below each other, as one SVG.
pub fn diagrams_svg(diagrams: &[Diagram]) -> Result<String, TooLarge> {
    let drawn = diagrams.iter().map(Diagram::drawn).collect::<Result<Vec<_>, TooLarge>>()?;
    let width = drawn.iter().map(|drawing| drawing.width).fold(120.0, f64::max);
    let height: f64 = drawn.iter().map(|drawing| drawing.height).sum::<f64>().max(60.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"diagram\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<defs><marker id=\"tip\" markerWidth=\"9\" markerHeight=\"8\" \
         refX=\"8\" refY=\"4\" orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path class=\"tip\" d=\"M0 0L9 4L0 8Z\"/></marker></defs>\n<rect \
         class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n",
        escaped(&diagrams.iter().map(|diagram| diagram.title.as_str()).collect::<Vec<_>>().join(", ")),
    );
    let mut top = 0.0;
    for drawing in drawn {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "<g transform=\"translate(0 {top:.0})\">\n{}</g>", drawing.text);
        top += drawing.height;
    }
    out.push_str("</svg>\n");
    Ok(out)
}

struct Drawing {
    text: String,
    width: f64,
    height: f64,
}

impl Diagram {
    fn drawn(&self) -> Result<Drawing, TooLarge> {
        if self.boxes.len() > BOXES_MAX || self.edges.len() > EDGES_MAX {
            return Err(TooLarge { boxes: self.boxes.len(), edges: self.edges.len() });
        }
        let Placed { boxes, labels, ways } = self.placed();
        let items = boxes.iter().chain(labels.iter().flatten()).chain(ways.iter().flatten().flatten());
        let (mut width, mut height) = (text_width(&self.title) * 1.25 + 2.0 * MARGIN, TITLE + MARGIN);
        for item in items {
            width = width.max(item.x + item.width / 2.0 + MARGIN);
            height = height.max(item.y + item.height / 2.0 + MARGIN);
        }
        let mut text = String::new();
        let _ = writeln!(text, "<text class=\"title\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>", MARGIN, escaped(&line(&self.title, 120)));
        // Labels cover the edges that run through them.
        for (((source, target, _), label), [before, behind]) in self.edges.iter().zip(&labels).zip(&ways) {
            let (from, to) = (boxes[*source], boxes[*target]);
            let path = match label {
                Some(label) if source == target => round(from, *label),
                label => {
                    let stops = std::iter::once(&from).chain(before).chain(label).chain(behind).chain([&to]);
                    let stops: Vec<Item> = stops.copied().collect();
                    let last = stops.len() - 2;
                    let link = |(index, pair): (usize, &[Item])| {
                        let (leaves, enters) = (index == 0, index == last);
                        curve(pair[0], pair[1], Ends { on: !leaves, beside_from: leaves, beside_to: enters })
                    };
                    stops.windows(2).enumerate().map(link).collect()
                }
            };
            let _ = writeln!(text, "<path class=\"edge\" d=\"{path}\" marker-end=\"url(#tip)\"/>");
        }
        for ((_, _, words), label) in self.edges.iter().zip(&labels) {
            if let Some(Item { x, y, width, height }) = label {
                let (left, top) = (x - width / 2.0, y - height / 2.0);
                let _ = writeln!(
                    text,
                    "<g><title>{}</title><rect class=\"back\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                     rx=\"4\"/><text class=\"label\" x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>",
                    escaped(&shortened(words, LONG)),
                    y + 4.0,
                    escaped(&line(words, TEXT_MAX)),
                );
            }
        }
        for (own, item) in self.boxes.iter().zip(&boxes) {
            own.draw(*item, &mut text);
        }
        Ok(Drawing { text, width, height })
    }

    /// The positions of everything.
    fn placed(&self) -> Placed {
        let mut sizes: Vec<(f64, f64)> = self.boxes.iter().map(DiagramBox::size).collect();
        let mut links: Vec<(usize, usize)> = Vec::new();
        let mut labels: Vec<Option<usize>> = Vec::new();
        for (source, target, label) in &self.edges {
            if source != target && label.is_empty() {
                labels.push(None);
                links.push((*source, *target));
                continue;
            }
            let number = sizes.len();
            sizes.push((text_width(&line(label, TEXT_MAX)) + 8.0, LINE + 4.0));
            labels.push(Some(number));
            links.push((*source, number));
            // The loop is drawn at the side; its label has a place in the next layer.
            if source != target {
                links.push((number, *target));
            }
        }
        let (count, first) = (sizes.len(), laid_out(&sizes, &without_cycles(sizes.len(), &links)));
        let (links, ways) = through_layers(&first, &mut sizes, &links);
        let items = if sizes.len() > count { laid_out(&sizes, &links) } else { first };
        let mut way = ways.into_iter().map(|way| way.into_iter().map(|number| items[number]).collect::<Vec<Item>>());
        let mut next = || way.next().unwrap_or_default();
        let ways = self.edges.iter().zip(&labels).map(|((source, target, _), label)| {
            let before = next();
            [before, if label.is_some() && source != target { next() } else { Vec::new() }]
        });
        let ways = ways.collect();
        let labels = labels.iter().map(|label| label.map(|number| items[number])).collect();
        Placed { boxes: items[..self.boxes.len()].to_vec(), labels, ways }
    }
}

/// The positions of everything.
struct Placed {
    boxes: Vec<Item>,
    /// The labels of edges that have one.
    labels: Vec<Option<Item>>,
    /// The positions at which each edge crosses layers, before its label and after it.
    ways: Vec<[Vec<Item>; 2]>,
}

/// The links, of which those are reversed that close a cycle in a depth-first walk from the first
/// box. So the picture is read from its beginning downwards.
fn without_cycles(count: usize, links: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); count];
    links.iter().enumerate().for_each(|(link, &(from, _))| leaving[from].push(link));
    let (mut turned, mut state) = (links.to_vec(), vec![Visit::New; count]);
    for start in 0..count {
        let mut stack = if state[start] == Visit::New { vec![(start, 0)] } else { Vec::new() };
        while let Some((at, next)) = stack.last_mut() {
            state[*at] = Visit::Open;
            let Some(&link) = leaving[*at].get(*next) else {
                state[*at] = Visit::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let (from, to) = links[link];
            match state[to] {
                Visit::New => stack.push((to, 0)),
                Visit::Open => turned[link] = (to, from),
                Visit::Done => {}
            }
        }
    }
    turned
}

/// What a depth-first walk has done with a vertex.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Links between neighbouring layers only, all of them downwards. Where a link crosses a layer,
/// there is a new vertex; the second result has the new vertices of each link, from its source on.
fn through_layers(items: &[Item], sizes: &mut Vec<(f64, f64)>, links: &[(usize, usize)]) -> (Vec<(usize, usize)>, Vec<Vec<usize>>) {
    // Vertices in one layer have the same middle. Connected parts have layers of their own.
    let mut middles: Vec<i64> = items.iter().map(|item| item.y.round() as i64).collect();
    middles.sort_unstable();
    middles.dedup_by(|next, last| *next - *last <= 2);
    let layer = |item: usize| middles.partition_point(|middle| *middle <= items[item].y.round() as i64 + 2);
    let passed: usize = links.iter().map(|&(from, to)| layer(from).abs_diff(layer(to)).saturating_sub(1)).sum();
    if passed == 0 || passed > PASSED_MAX {
        return (links.to_vec(), vec![Vec::new(); links.len()]);
    }
    let (mut down, mut ways) = (Vec::new(), Vec::new());
    for &(from, to) in links {
        let up = layer(from) > layer(to);
        let (mut at, end) = if up { (to, from) } else { (from, to) };
        let mut way = Vec::new();
        for _ in layer(at) + 1..layer(end) {
            sizes.push(PASSED);
            let number = sizes.len() - 1;
            down.push((at, number));
            way.push(number);
            at = number;
        }
        down.push((at, end));
        if up {
            way.reverse();
        }
        ways.push(way);
    }
    (down, ways)
}

/// Positions for vertices of these sizes with links between them. The first one is at the top.
fn laid_out(sizes: &[(f64, f64)], links: &[(usize, usize)]) -> Vec<Item> {
    let numbered: Vec<(u32, (f64, f64))> = sizes.iter().enumerate().map(|(number, size)| (number as u32, *size)).collect();
    let edges: Vec<(u32, u32)> = links.iter().map(|&(from, to)| (from as u32, to as u32)).collect();
    let config = Config {
        minimum_length: 1,
        vertex_spacing: 22.0,
        dummy_vertices: true,
        dummy_size: 0.6,
        // The ranking that minimises the length of edges does not terminate on some graphs.
        ranking_type: RankingType::Up,
        c_minimization: CrossingMinimization::Barycenter,
        transpose: sizes.len() <= CAREFUL_MAX,
    };
    let mut items: Vec<Item> = sizes.iter().map(|&(width, height)| Item { width, height, ..Item::default() }).collect();
    let mut left = MARGIN;
    for (places, ..) in from_vertices_and_edges(&numbered, &edges, &config) {
        // The layout may be mirrored: options are read from left to right.
        let mirror = if is_mirrored(&places, links) { -1.0 } else { 1.0 };
        let part = || places.iter().map(|&(number, (x, y))| (number, mirror * x, y));
        // Sources are at the top, in whichever direction the layout counts.
        let down = part().find(|(number, ..)| *number == 0).is_none_or(|(_, _, y)| part().all(|(.., other)| other >= y - 0.5));
        let up = part().find(|(number, ..)| *number == 0).is_some_and(|(_, _, y)| part().all(|(.., other)| other <= y + 0.5));
        let sign = if up && !down { -1.0 } else { 1.0 };
        let least_x = part().map(|(number, x, _)| x - items[number].width / 2.0).fold(f64::INFINITY, f64::min);
        let least_y = part().map(|(number, _, y)| sign * y - items[number].height / 2.0).fold(f64::INFINITY, f64::min);
        let mut right = left;
        for (number, x, y) in part() {
            let item = &mut items[number];
            (item.x, item.y) = (x - least_x + left, sign * y - least_y + TITLE + MARGIN);
            right = f64::max(right, item.x + item.width / 2.0);
        }
        left = right + 2.0 * MARGIN;
    }
    items
}

impl DiagramBox {
    fn shown(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.iter().take(LINES_MAX).map(|text| line(text, TEXT_MAX)).collect();
        if self.lines.len() > LINES_MAX {
            lines.push(format!("… and {} more", self.lines.len() - LINES_MAX));
        }
        lines
    }

    fn size(&self) -> (f64, f64) {
        let lines = self.shown();
        let width = lines.iter().map(|text| text_width(text)).fold(20.0, f64::max);
        (width + 2.0 * PAD, lines.len().max(1) as f64 * LINE + 2.0 * PAD - 4.0)
    }

    fn draw(&self, Item { x, y, width, height }: Item, out: &mut String) {
        let (left, top) = (x - width / 2.0, y - height / 2.0);
        let story = if self.story.is_empty() { self.lines.join("\n") } else { self.story.clone() };
        let round = if self.kind == BoxKind::End { height / 2.0 } else { 5.0 };
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"box {:?}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             rx=\"{round:.1}\"/>",
            escaped(&shortened(&story, LONG)),
            self.kind,
        );
        for (number, text) in self.shown().iter().enumerate() {
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{:.1}\">{}</text>", top + PAD + 9.0 + number as f64 * LINE, escaped(text));
        }
        out.push_str("</g>\n");
    }
}

fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER * 1.08
}

/// Whether more of the vertices that leave the same vertex are in the reverse of their order than
/// in their order.
fn is_mirrored(places: &[(usize, (f64, f64))], links: &[(usize, usize)]) -> bool {
    let at: HashMap<usize, f64> = places.iter().map(|&(number, (x, _))| (number, x)).collect();
    let mut last: HashMap<usize, f64> = HashMap::new();
    let mut votes = 0_i64;
    for &(from, to) in links {
        let Some((_, &x)) = at.get(&from).zip(at.get(&to)) else { continue };
        if let Some(before) = last.insert(from, x) {
            votes += if x < before - 0.5 { 1 } else { -i64::from(x > before + 0.5) };
        }
    }
    votes > 0
}

/// How a part of an edge begins and ends.
#[derive(Clone, Copy)]
struct Ends {
    /// The part continues another.
    on: bool,
    /// A part that runs upwards leaves its box, or enters it, at the side: edges that run downwards
    /// enter boxes at the top and leave them at the bottom.
    beside_from: bool,
    beside_to: bool,
}

/// A curve from one item to another, which is below or above it.
fn curve(from: Item, to: Item, ends: Ends) -> String {
    let down = to.y >= from.y;
    let side = if down { 1.0 } else { -1.0 };
    let (start, tip) = (from.y + side * from.height / 2.0, to.y - side * to.height / 2.0);
    let bend = ((tip - start).abs() / 2.0).max(12.0) * side;
    let begin = if ends.on { 'L' } else { 'M' };
    // The side of a box that is nearer to a position, and a point beside it.
    let beside = |item: Item, x: f64| {
        let right = if x >= item.x { 1.0 } else { -1.0 };
        let edge = item.x + right * item.width / 2.0;
        (edge, edge + right * 24.0)
    };
    let (first, control) = if ends.beside_from && !down {
        let (edge, out) = beside(from, to.x);
        (format!("{edge:.1} {:.1}", from.y), format!("{out:.1} {:.1}", from.y))
    } else {
        (format!("{:.1} {start:.1}", from.x), format!("{:.1} {:.1}", from.x, start + bend))
    };
    let (before, last) = if ends.beside_to && !down {
        let (edge, out) = beside(to, from.x);
        (format!("{out:.1} {:.1}", to.y), format!("{edge:.1} {:.1}", to.y))
    } else {
        (format!("{:.1} {:.1}", to.x, tip - bend), format!("{:.1} {tip:.1}", to.x))
    };
    format!("{begin}{first}C{control} {before} {last}")
}

/// A loop through its label, which is below the box.
fn round(own: Item, label: Item) -> String {
    let side = if label.x >= own.x { 1.0 } else { -1.0 };
    let (bottom, edge) = (own.y + own.height / 2.0, own.x + side * own.width / 2.0);
    let out = f64::max(edge * side, (label.x + side * label.width / 2.0) * side) * side + side * 26.0;
    format!(
        "M{:.1} {bottom:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}C{out:.1} {:.1} {out:.1} {:.1} {edge:.1} {:.1}",
        own.x,
        own.x,
        bottom + 14.0,
        label.x,
        label.y - 14.0,
        label.x,
        label.y,
        label.y,
        own.y,
        own.y,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(text: &str) -> DiagramBox {
        DiagramBox { lines: vec![text.to_owned()], ..DiagramBox::default() }
    }

    #[test]
    fn sources_are_above_their_targets_and_nothing_overlaps() {
        let boxes: Vec<DiagramBox> = (0..6).map(|number| boxed(&format!("number {number}"))).collect();
        let edge = |a: usize, b: usize| (a, b, format!("{a} to {b}"));
        let edges = vec![edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3), edge(3, 4), edge(4, 0), edge(4, 4), edge(3, 5)];
        let diagram = Diagram { title: "t".to_owned(), boxes, edges };
        let Placed { boxes, labels, ways } = diagram.placed();
        assert!(boxes[0].y < boxes[1].y && boxes[1].y < boxes[3].y && boxes[3].y < boxes[4].y);
        assert!(ways.iter().flatten().any(|way| !way.is_empty()), "an edge passes a layer");
        let all: Vec<Item> = boxes.into_iter().chain(labels.into_iter().flatten()).chain(ways.into_iter().flatten().flatten()).collect();
        for (index, one) in all.iter().enumerate() {
            for other in &all[index + 1..] {
                let apart_x = (one.x - other.x).abs() * 2.0 + 0.5 >= one.width + other.width;
                let apart_y = (one.y - other.y).abs() * 2.0 + 0.5 >= one.height + other.height;
                assert!(apart_x || apart_y, "two things overlap");
            }
        }
        let svg = diagrams_svg(&[diagram]).expect("small enough");
        assert!(svg.contains("number 5") && svg.contains("4 to 0") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn options_are_drawn_from_left_to_right() {
        let boxes: Vec<DiagramBox> = (0..4).map(|number| boxed(&format!("number {number}"))).collect();
        let edge = |a: usize, b: usize| (a, b, format!("{a} to {b}"));
        let diagram = Diagram { title: "t".to_owned(), boxes, edges: vec![edge(0, 1), edge(0, 2), edge(0, 3)] };
        let Placed { boxes, labels, .. } = diagram.placed();
        let at = |index: usize| labels[index].map(|label| label.x).expect("a label");
        assert!(at(0) < at(1) && at(1) < at(2), "{} {} {}", at(0), at(1), at(2));
        // An edge upwards enters its box at the side, not where edges leave.
        let up = curve(boxes[1], boxes[0], Ends { on: false, beside_from: true, beside_to: true });
        let end: Vec<f64> = up.rsplit(' ').take(2).filter_map(|number| number.parse().ok()).collect();
        assert_eq!(end[0], (boxes[0].y * 10.0).round() / 10.0, "{up}");
    }

    #[test]
    fn any_graph_is_drawn_or_refused() {
        let mut seed = 7_u64;
        let mut number = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for _ in 0..200 {
            let count = number(12);
            let boxes: Vec<DiagramBox> = (0..count).map(|number| boxed(&number.to_string())).collect();
            let edges = if count == 0 { 0 } else { number(25) };
            let edges = (0..edges).map(|_| (number(count), number(count), if number(3) == 0 { String::new() } else { "<&>".to_owned() }));
            let diagram = Diagram { title: String::new(), edges: edges.collect(), boxes };
            let svg = diagrams_svg(&[diagram]).expect("small enough");
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<&>"), "{svg}");
        }
        let many = Diagram { boxes: vec![boxed("x"); BOXES_MAX + 1], ..Diagram::default() };
        assert!(diagrams_svg(&[many]).is_err());
    }
}
