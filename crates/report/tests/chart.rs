//! Charts are well-formed whatever names the model has; they contain every step, and arrows where
//! processes communicate.

use bytecode::{Verified, asm, verify};
use contract::{Trace, TraceStep};
use replay::{Narrator, Step};
use report::json::ViolationJson;
use report::{Chart, Witness};
use std::collections::HashSet;
use std::sync::Arc;

/// A rendezvous, a message that waits, a child that is created and ends, two statements in one
/// step, and a print.
const PROGRAM: &str = r#"
global byte x
channel queue = [2] of { byte }
channel meet = [0] of { byte }

process Sender() {
    LDC queue               ;: queue ! 7
    LDC 7
    SEND 1
    STEP N
    LDC meet                ;: meet ! 8
    LDC 8
    SEND 1
    STEP N
    RUN 0, Child            ;: run Child()
    STL child
    STEP N
    local pid child
    LDC 0                   ;: false
    NEXZ
    STEP N
    STEP T
}

process Receiver() {
    LDC queue               ;: queue ? x
    RECV 1, {}, first
    PUSH r0
    STG x
    STEP N
    LDC meet                ;: meet ? x
    RECV 1, {}, first
    PUSH r0
    STG x
    STEP N
    LDC 0                   ;: false
    NEXZ
    STEP N
    STEP T
}

process Child() {
    LDG x                   ;: print x
    PRINT "x is <%d>\n", 1
    STEP N
    STEP T
}

start Sender, Receiver
"#;

/// Counts for ever.
const COUNTER: &str = r#"
global int n
process Counter() {
again:
    ;: n++
    LDG n
    LDC 1
    ADD
    STG n
    STEP N
    JMP again
}
start Counter
"#;

fn program(text: &str) -> Arc<Verified> {
    let mut map = source::SourceMap::new();
    let file = map.add("folder/model.epa", text);
    let program = asm::assemble(&map, file).unwrap_or_else(|errors| panic!("{}", source::render_all(&map, &errors)));
    Arc::new(verify(program).expect("well-formed"))
}

/// A run that always takes the first step, `max` times or to its end.
fn walk(program: &Arc<Verified>, max: usize) -> (Trace, Vec<Step>) {
    let narrator = Narrator::new(Arc::clone(program));
    let initial = narrator.initial().0.expect("an initial state");
    let (mut trace, mut steps) = (Trace { initial, ..Trace::default() }, Vec::new());
    while steps.len() < max
        && let Some(step) = narrator.steps(trace.last_state()).expect("a state").into_iter().next()
    {
        trace.steps.push(TraceStep { action: step.action, state: step.state.clone() });
        steps.push(step);
    }
    (trace, steps)
}

fn witness(trace: Trace) -> Witness {
    let violation = ViolationJson {
        kind: "invalid end state".to_owned(),
        message: "no <process> can move".to_owned(),
        file: Some("a&b.epa".to_owned()),
        line: Some(3),
        column: None,
    };
    Witness {
        model: "model.epa".to_owned(),
        violation: Some(violation),
        folder: None,
        ending: "epa".to_owned(),
        program: String::new(),
        trace,
    }
}

/// Checks that a text is XML, as far as we use it: elements are closed, attributes are quoted and
/// unique, entities are known. Returns the names of the elements.
fn elements(text: &str) -> Vec<String> {
    let text = text.strip_prefix("<!DOCTYPE html>\n").unwrap_or(text);
    let (mut names, mut open, mut rest) = (Vec::new(), Vec::<String>::new(), text);
    while let Some(start) = rest.find('<') {
        let before = &rest[..start];
        assert!(!open.is_empty() || before.trim().is_empty(), "text outside: {before}");
        check_text(before);
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closes another element");
            continue;
        }
        let empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "a name: {name}");
        let mut seen = HashSet::new();
        while !attributes.trim().is_empty() {
            let (key, value) = attributes.split_once("=\"").expect("an attribute has a value in quotes");
            let (value, more) = value.split_once('"').expect("quotes close");
            assert!(seen.insert(key.trim().to_owned()), "twice: {key} in {tag}");
            assert!(!key.trim().starts_with("on"), "a script: {tag}");
            check_text(value);
            attributes = more;
        }
        names.push(name.to_owned());
        if !empty {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, Vec::<String>::new(), "elements are left open");
    assert!(rest.trim().is_empty());
    names
}

fn check_text(text: &str) {
    for part in text.split('&').skip(1) {
        let entity = part.split_once(';').expect("an entity ends").0;
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "{entity}");
    }
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "control characters: {text:?}");
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn every_step_is_there() {
    let program = program(PROGRAM);
    let (trace, steps) = walk(&program, 100);
    assert!(steps.len() >= 5, "{steps:?}");
    let chart = Chart::new(&Narrator::new(Arc::clone(&program)), &witness(trace), &steps, false);
    let (svg, html) = (chart.svg(), chart.html());
    elements(&svg);
    elements(&html);
    for (index, step) in steps.iter().enumerate() {
        assert!(svg.contains(&format!("<g id=\"chart-{}\">", index + 1)), "{svg}");
        assert!(html.contains(&format!("<tr><td>{}</td>", index + 1)), "{html}");
        for statement in &step.statements {
            for text in [&svg, &html] {
                assert!(text.contains(&format!(">{}<", statement.text)), "{}: {text}", statement.text);
            }
            let at = statement.position.as_ref().expect("the text has positions");
            assert!(svg.contains(&format!(">model.epa:{}<", at.line)) && html.contains(&format!(">{at}<")), "{at}");
        }
    }
    assert!(svg.contains(">x = 7<") && svg.contains(">x = 8<") && html.contains("x = 8"), "{svg}");
    assert!(svg.contains("prints: x is &lt;8&gt;") && html.contains("prints: x is &lt;8&gt;"), "{svg}");
    for text in [&svg, &html] {
        assert!(text.contains("violated: no &lt;process&gt; can move (a&amp;b.epa:3)"), "{text}");
    }
}

#[test]
fn arrows_join_those_who_have_to_do_with_each_other() {
    let program = program(PROGRAM);
    let (trace, steps) = walk(&program, 100);
    let sent = 1 + steps.iter().position(|step| step.first().text == "queue ! 7").expect("sent");
    let received = 1 + steps.iter().position(|step| step.first().text == "queue ? x").expect("received");
    let svg = Chart::new(&Narrator::new(Arc::clone(&program)), &witness(trace), &steps, false).svg();
    assert_eq!(count(&svg, "class=\"meet\""), 1, "{svg}");
    assert_eq!(count(&svg, "class=\"message\""), 1, "{svg}");
    assert!(svg.contains(&format!("sent in step {sent}, received in step {received}")), "{svg}");
    // Three processes, one of which is created during the run and ends.
    assert_eq!(count(&svg, "class=\"head\""), 3);
    assert_eq!(count(&svg, "class=\"life\""), 3);
    assert_eq!(count(&svg, "class=\"birth\""), 1);
    assert_eq!(count(&svg, "class=\"cut\""), 1);
    // Two processes are stuck at the end.
    assert_eq!(count(&svg, "class=\"stuck\""), 2);
    assert_eq!(count(&svg, "class=\"banner\""), 1);
}

#[test]
fn names_are_names_and_nothing_else() {
    let program = program(COUNTER);
    let (mut trace, mut steps) = walk(&program, 3);
    trace.loop_start = None;
    let hostile = "]]></text></svg><script>alert(\"1\")</script>' onload='x\u{0}\u{202e}&amp;<!--";
    for step in &mut steps {
        step.printed = hostile.to_owned();
        for statement in step.statements.iter_mut().map(Arc::make_mut) {
            statement.text = hostile.to_owned();
            statement.process = hostile.to_owned();
            if let Some(at) = &mut statement.position {
                at.file = hostile.to_owned();
            }
        }
    }
    let mut witness = witness(trace);
    witness.model = hostile.to_owned();
    witness.violation = Some(ViolationJson {
        kind: hostile.to_owned(),
        message: hostile.to_owned(),
        file: Some(hostile.to_owned()),
        line: Some(1),
        column: None,
    });
    let chart = Chart::new(&Narrator::new(Arc::clone(&program)), &witness, &steps, false);
    for text in [chart.svg(), chart.html()] {
        let names = elements(&text);
        assert!(!names.iter().any(|name| name == "script"), "{text}");
        assert_eq!(names.iter().filter(|name| *name == "svg").count(), 1);
        assert!(text.contains("&lt;script&gt;"));
        assert!(!text.contains('\u{202e}') && !text.contains("<!--"), "{text}");
    }
}

#[test]
fn long_traces_lose_their_middle() {
    let program = program(COUNTER);
    let (trace, steps) = walk(&program, 5_000);
    let chart = Chart::new(&Narrator::new(Arc::clone(&program)), &witness(trace), &steps, false);
    for text in [chart.svg(), chart.html()] {
        elements(&text);
        assert!(text.contains("3,000 steps are not shown"));
        assert!(
            text.contains(">1000<")
                && !text.contains(">1001<")
                && !text.contains(">4000<")
                && text.contains(">4001<")
                && text.contains(">5000<")
        );
        assert!(text.len() < 2_000_000, "{} bytes", text.len());
    }
}

#[test]
fn long_texts_are_cut() {
    let program = program(COUNTER);
    let (trace, mut steps) = walk(&program, 2);
    Arc::make_mut(&mut steps[0].statements[0]).text = "é".repeat(1_000_000);
    let chart = Chart::new(&Narrator::new(Arc::clone(&program)), &witness(trace), &steps, false);
    assert!(chart.svg().len() < 30_000 && chart.html().len() < 60_000);
}

#[test]
fn loops_and_empty_traces() {
    let program = program(COUNTER);
    let (mut trace, steps) = walk(&program, 4);
    trace.loop_start = Some(2);
    let chart = Chart::new(&Narrator::new(Arc::clone(&program)), &witness(trace.clone()), &steps, false);
    for text in [chart.svg(), chart.html()] {
        elements(&text);
        assert_eq!(count(&text, "from here on, again and again"), if text.starts_with("<svg") { 1 } else { 2 });
    }
    trace.steps.clear();
    trace.loop_start = None;
    let run = Witness { violation: None, ..witness(trace) };
    let chart = Chart::new(&Narrator::new(Arc::clone(&program)), &run, &[], false);
    elements(&chart.svg());
    elements(&chart.html());
    assert!(!chart.svg().contains("violated") && chart.html().contains("before any step"));
}

/// A process that creates three others in one step.
const FAMILY: &str = r#"
process Parent() {
    RUN 0, Child            ;: run Child()
    STL child
    STEP I
    local pid child
    RUN 0, Child            ;: run Child()
    STL child
    STEP I
    RUN 0, Child            ;: run Child()
    STL child
    STEP N
    LDC 0                   ;: false
    NEXZ
    STEP N
    STEP T
}

process Child() {
    LDC 0                   ;: false
    NEXZ
    STEP N
    STEP T
}

start Parent
"#;

/// The numbers in a text.
fn numbers(text: &str) -> Vec<i64> {
    text.split(|c: char| !c.is_ascii_digit() && c != '-').filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn arrows_to_new_processes_pass_no_names() {
    let program = program(FAMILY);
    let (trace, steps) = walk(&program, 5);
    assert_eq!(steps.len(), 1);
    let svg = Chart::new(&Narrator::new(Arc::clone(&program)), &witness(trace), &steps, true).svg();
    let of = |class: &str| svg.split('<').filter(|tag| tag.contains(&format!("class=\"{class}\""))).collect::<Vec<_>>();
    let value = |tag: &str, key: &str| numbers(tag.split(&format!(" {key}=\"")).nth(1).expect("an attribute"))[0];
    let heads: Vec<(i64, i64, i64, i64)> = of("head")
        .into_iter()
        .map(|tag| (value(tag, "x"), value(tag, "y"), value(tag, "x") + value(tag, "width"), value(tag, "y") + value(tag, "height")))
        .collect();
    let births = of("birth");
    assert_eq!((heads.len(), births.len()), (4, 3), "{svg}");
    for birth in births {
        let path = birth.split(" d=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a path");
        let points: Vec<(i64, i64)> = numbers(path).chunks(2).map(|pair| (pair[0], pair[1])).collect();
        for pair in points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            let inside = |&(left, top, right, bottom): &(i64, i64, i64, i64)| {
                x1.min(x2) < right && x1.max(x2) > left && y1.min(y2) < bottom && y1.max(y2) > top
            };
            assert!(!heads.iter().any(inside), "{path} runs through a name: {heads:?}");
        }
    }
}
