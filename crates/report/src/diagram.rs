//! A directed graph as a picture: boxes in layers, labelled edges between them.
//!
//! The layers and the positions in them come from `rust-sugiyama` (Sugiyama, Tagawa, Toda, "Methods
//! for visual understanding of hierarchical system structures", 1981). A label is laid out like a
//! box: edges run through their labels, so no label hides another. Graphviz is not needed.

use crate::chart::markup::{LONG, escaped, line, shortened};
use rust_sugiyama::configure::{Config, CrossingMinimization, RankingType};
use rust_sugiyama::from_vertices_and_edges;
use std::fmt::Write as _;

/// The most boxes and edges that are drawn. A larger picture cannot be read and takes long.
const BOXES_MAX: usize = 600;
const EDGES_MAX: usize = 1_800;
/// The number of boxes and edges from which on crossings are not reduced further, because that
/// takes long.
const CAREFUL_MAX: usize = 200;

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
@media(prefers-color-scheme:dark){.diagram{--paper:#16191d;--ink:#d9e2ec;--faint:#9fb3c8;--line:#627d98;--fill:#242b33;--first:#1d3a57;--end:#1c3d2a;--accept:#4a3517}}\
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
        let (boxes, labels) = self.placed();
        let items = boxes.iter().chain(labels.iter().flatten());
        let (mut width, mut height) = (text_width(&self.title) * 1.25 + 2.0 * MARGIN, TITLE + MARGIN);
        for item in items {
            width = width.max(item.x + item.width / 2.0 + MARGIN);
            height = height.max(item.y + item.height / 2.0 + MARGIN);
        }
        let mut text = String::new();
        let _ = writeln!(text, "<text class=\"title\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>", MARGIN, escaped(&line(&self.title, 120)));
        // Labels cover the edges that run through them.
        for ((source, target, _), label) in self.edges.iter().zip(&labels) {
            let (from, to) = (boxes[*source], boxes[*target]);
            let path = match label {
                Some(label) if source == target => round(from, *label),
                Some(label) => format!("{}{}", curve(from, *label, false), curve(*label, to, true)),
                None => curve(from, to, false),
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

    /// The positions of the boxes, and of the labels of edges that have one.
    fn placed(&self) -> (Vec<Item>, Vec<Option<Item>>) {
        let mut sizes: Vec<(u32, (f64, f64))> = Vec::new();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for own in &self.boxes {
            sizes.push((sizes.len() as u32, own.size()));
        }
        let mut numbers: Vec<Option<u32>> = Vec::new();
        for (source, target, label) in &self.edges {
            let (source, target) = (*source as u32, *target as u32);
            let size = (text_width(&line(label, TEXT_MAX)) + 8.0, LINE + 4.0);
            if source == target {
                // The loop is drawn at the side; its label has a place in the next layer.
                let number = sizes.len() as u32;
                sizes.push((number, size));
                edges.push((source, number));
                numbers.push(Some(number));
            } else if label.is_empty() {
                edges.push((source, target));
                numbers.push(None);
            } else {
                let number = sizes.len() as u32;
                sizes.push((number, size));
                edges.extend([(source, number), (number, target)]);
                numbers.push(Some(number));
            }
        }
        let careful = sizes.len() <= CAREFUL_MAX;
        let config = Config {
            minimum_length: 1,
            vertex_spacing: 22.0,
            dummy_vertices: true,
            dummy_size: 0.6,
            // The ranking that minimises the length of edges does not terminate on some graphs.
            ranking_type: RankingType::Up,
            c_minimization: CrossingMinimization::Barycenter,
            transpose: careful,
        };
        let mut items: Vec<Item> = sizes.iter().map(|&(_, (width, height))| Item { width, height, ..Item::default() }).collect();
        let mut left = MARGIN;
        for (places, ..) in from_vertices_and_edges(&sizes, &edges, &config) {
            let part = || places.iter().map(|&(number, (x, y))| (number, x, y));
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
        let labels = numbers.iter().map(|number| number.map(|number| items[number as usize])).collect();
        items.truncate(self.boxes.len());
        (items, labels)
    }
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

/// A curve from one item to another, which is below or above it. `on` continues a path.
fn curve(from: Item, to: Item, on: bool) -> String {
    let down = to.y >= from.y;
    let side = if down { 1.0 } else { -1.0 };
    let (start, tip) = (from.y + side * from.height / 2.0, to.y - side * to.height / 2.0);
    let bend = ((tip - start).abs() / 2.0).max(12.0) * side;
    let begin = if on { format!("L{:.1} {start:.1}", from.x) } else { format!("M{:.1} {start:.1}", from.x) };
    format!("{begin}C{:.1} {:.1} {:.1} {:.1} {:.1} {tip:.1}", from.x, start + bend, to.x, tip - bend, to.x)
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
        let (boxes, labels) = diagram.placed();
        assert!(boxes[0].y < boxes[1].y && boxes[1].y < boxes[3].y && boxes[3].y < boxes[4].y);
        let all: Vec<Item> = boxes.into_iter().chain(labels.into_iter().flatten()).collect();
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
