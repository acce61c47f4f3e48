//! The report of a check in a real browser: it is opened from disk, keys and the pointer move
//! through the path, it is dark if the user wants that, it can be printed, and a chart of 500 steps
//! is complete.
//!
//! The browser is driven by its own protocol. Of each page there is also a picture, in
//! `target/pages`, which people should look at after a change. The tests are skipped if there is no
//! Chromium.

mod common;

use common::Folder;
use common::browser::Browser;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The folder for pictures.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../pages");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder.canonicalize().expect("it exists")
}

/// Counts to 125 and fails.
const COUNTER: &str = "byte n;\nactive proctype P() {\n\tdo\n\t:: n < 125 -> n++\n\t:: n == 125 -> assert(false)\n\tod\n}\n";

/// The steps that are marked in the table, in the chart and in the source, and the step that the
/// player tells.
fn marked(browser: &mut Browser) -> (String, String, String, String) {
    let row = browser.value("(document.querySelector('tr.current') || { dataset: { step: 'none' } }).dataset.step");
    let chart = browser.value("(document.querySelector('g.current') || { id: 'none' }).id");
    let source = browser.value("(document.querySelector('.source .here') || { id: 'none' }).id");
    let text = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (text(row), text(chart), text(source), browser.text("#count"))
}

#[test]
fn keys_and_the_pointer_move_through_the_path() {
    let folder = Folder::with("model.pml", COUNTER);
    folder.run(&["check", "model.pml", "--html", "report.html", "--coverage", "--no-merge", "--verbose"]).exits(1);
    let Some(mut browser) = Browser::start(&folder) else { return };
    browser.open(&folder.path("report.html"));
    assert_eq!(browser.text("#count"), "252 / 252");
    // Forward twice, once more, and back.
    ["Home", "ArrowRight", "j", "ArrowRight", "k"].into_iter().for_each(|key| browser.press(key));
    assert_eq!(marked(&mut browser), ("2".into(), "chart-2".into(), "l0-4".into(), "2 / 252".into()));
    assert_eq!(browser.text("#now"), "2. P(0): n++");
    assert_eq!(browser.text("tr.changed"), "n1");
    browser.press("PageDown");
    assert_eq!(browser.text("#count"), "12 / 252");
    browser.press("End");
    browser.press("PageUp");
    assert_eq!(browser.text("#count"), "242 / 252");
    // The buttons, a row, and the middle of the slider.
    browser.click("#back", 0.5);
    assert_eq!(browser.text("#count"), "241 / 252");
    browser.click("#forth", 0.5);
    assert_eq!(browser.text("#count"), "242 / 252");
    browser.click("tr[data-step='7']", 0.1);
    assert_eq!(marked(&mut browser).3, "7 / 252");
    browser.click("#slider", 0.5);
    let at = browser.text("#count").split(' ').next().and_then(|step| step.parse::<u32>().ok()).expect("a step");
    assert!((116..=136).contains(&at), "{at}");
    // The marked row and the marked box of the chart are in view.
    for (element, frame) in [("tr.current", ".steps"), ("g.current", ".picture"), (".source .here", ".source")] {
        let seen = format!(
            "(function () {{ var e = document.querySelector('{element}').getBoundingClientRect(), b = document.querySelector('{frame}').getBoundingClientRect(); \
             return e.top >= b.top && e.bottom <= b.bottom; }})()"
        );
        assert_eq!(browser.value(&seen), json!(true), "{element}");
    }
    // Keys go to the slider too, once it was clicked, and still move by one step.
    browser.press("ArrowRight");
    assert_eq!(browser.text("#count"), format!("{} / 252", at + 1));
    assert_eq!(browser.text("tr.changed"), if at % 2 == 1 { format!("n{}", at / 2 + 1) } else { "-".to_owned() });
    browser.size(1200, 1400);
    browser.picture(&pictures().join("slider.png"));
}

#[test]
fn the_page_is_dark_if_the_user_wants_that_and_can_be_printed() {
    let model = "chan c = [0] of { byte };\nproctype P(byte i) { c ! i; c ? _ }\nproctype Q() { byte x; c ? x; assert(x != 2); c ? x }\n\
                 init { atomic { run P(1); run P(2); run Q() } }\n";
    let folder = Folder::with("model.pml", model);
    folder.run(&["check", "model.pml", "--html", "report.html", "--coverage"]).exits(1);
    let Some(mut browser) = Browser::start(&folder) else { return };
    browser.size(1200, 1700);
    browser.open(&folder.path("report.html"));
    // The brightness of the page and of a text on it.
    let brightness = |browser: &mut Browser, medium: &str, dark: bool| {
        browser.medium(medium, dark);
        let colours = browser.value("var s = getComputedStyle(document.body); s.backgroundColor + ' ' + s.color");
        let colours = colours.as_str().unwrap_or_default().to_owned();
        let numbers: Vec<u32> = colours.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers.len(), 6, "{colours}");
        (numbers[..3].iter().sum::<u32>(), numbers[3..].iter().sum::<u32>())
    };
    let (page, text) = brightness(&mut browser, "screen", false);
    browser.picture(&pictures().join("light.png"));
    assert!(page > 600 && text < 300, "{page} {text}");
    let (page, text) = brightness(&mut browser, "screen", true);
    browser.picture(&pictures().join("dark.png"));
    assert!(page < 200 && text > 500, "{page} {text}");
    // On paper there is nothing to press, and nothing is hidden behind a scroll bar. Paper is not
    // dark, whatever the screen is.
    let (page, text) = brightness(&mut browser, "print", true);
    assert!(page > 600 && text < 300, "{page} {text}");
    let hidden = "Array.from(document.querySelectorAll('.player .bar, .keys')).every(function (e) { return getComputedStyle(e).display === 'none'; })";
    assert_eq!(browser.value(hidden), json!(true));
    let cut = "Array.from(document.querySelectorAll('.source, .values, .steps, .picture'))\
               .filter(function (e) { return e.scrollHeight > e.clientHeight + 2; }).length";
    assert_eq!(browser.value(cut), json!(0));
    // The chart is light too.
    let chart = browser.value("getComputedStyle(document.querySelector('.picture svg rect')).fill");
    let numbers: Vec<u32> =
        chart.as_str().unwrap_or_default().split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    assert!(numbers.iter().take(3).sum::<u32>() > 600, "{chart}");
    browser.picture(&pictures().join("print.png"));
    assert!(browser.print(&pictures().join("printed.pdf")) >= 1);
}

#[test]
fn a_chart_of_500_steps_is_complete() {
    // Three processes pass a number on, each by its own rule, so that nothing repeats.
    let model = "chan c[3] = [1] of { short };\nshort last;\n\
                 active [3] proctype P() { short x; do :: c[_pid] ? x -> last = x; assert(x < 167); \
                 if :: x % 7 < 3 -> c[(_pid + 1) % 3] ! x + 1 :: else -> c[(_pid + 2) % 3] ! x + 1 fi od }\n\
                 active proctype Start() { c[0] ! 1 }\n";
    let folder = Folder::with("model.pml", model);
    folder.run(&["check", "model.pml", "--html", "report.html", "--no-merge", "--no-por", "--verbose"]).exits(1);
    let page = folder.read("report.html");
    let steps = page.matches("<g id=\"chart-").count();
    assert!(steps >= 500, "{steps} steps");
    let Some(mut browser) = Browser::start(&folder) else { return };
    browser.size(1300, 760);
    browser.open(&folder.path("report.html"));
    // No box of the picture lies outside of it, and the last step is marked.
    let outside = "var svg = document.querySelector('.picture svg'), b = svg.getBoundingClientRect();\
                   Array.from(svg.querySelectorAll('rect, text')).filter(function (e) { var r = e.getBoundingClientRect();\
                   return r.left < b.left - 1 || r.right > b.right + 1 || r.top < b.top - 1 || r.bottom > b.bottom + 1; }).length";
    assert_eq!(browser.value(outside), json!(0));
    assert_eq!(browser.value("document.querySelector('g.current').id"), json!(format!("chart-{steps}")));
    let height = browser.value("document.querySelector('.picture svg').getBoundingClientRect().height");
    assert!(height.as_f64().is_some_and(|height| height > steps as f64 * 40.0), "{height}");
    // The chart alone, scrolled to its end by the page's own script.
    browser.value("document.querySelectorAll('body > *:not(.picture)').forEach(function (e) { e.style.display = 'none'; })");
    browser.picture(&pictures().join("chart-500.png"));
}

#[test]
fn a_path_whose_beginning_is_missing_keeps_its_numbers() {
    let model = "short n;\nactive proctype P() {\n\tdo\n\t:: n < 1250 -> n++\n\t:: n == 1250 -> assert(false)\n\tod\n}\n";
    let folder = Folder::with("model.pml", model);
    folder.run(&["check", "model.pml", "--html", "report.html", "--no-merge"]).exits(1);
    let page = folder.read("report.html");
    assert!(page.contains("The first 502 steps are left out") && page.contains("data-step=\"503\"") && !page.contains("data-step=\"502\""));
    let Some(mut browser) = Browser::start(&folder) else { return };
    browser.open(&folder.path("report.html"));
    assert_eq!(browser.text("#count"), "2502 / 2502");
    assert_eq!(marked(&mut browser).0, "2502");
    browser.press("Home");
    assert_eq!((browser.text("#count"), browser.text("#now")), ("502 / 2502".to_owned(), "after step 502".to_owned()));
    assert_eq!(browser.text("#values"), "n251");
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    assert_eq!((marked(&mut browser).0, browser.text("#now")), ("504".to_owned(), "504. P(0): n++".to_owned()));
    assert_eq!(browser.text("#values"), "n252");
}
