//! The report of a check in a real browser: it is opened from disk, keys and the slider move
//! through the path, it is dark if the user wants that, and a chart of 500 steps is complete.
//!
//! Events are sent by a script that is added to the page, and the page is read back as text. Of
//! each page there is also a picture, in `target/pages`, which people should look at after a
//! change. The tests are skipped if there is no Chromium.

mod common;

use common::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()))
}

/// A page that is opened in a browser.
struct Opened<'a> {
    browser: &'static str,
    folder: &'a Folder,
    /// Further arguments of the browser.
    arguments: &'a [&'a str],
}

impl Opened<'_> {
    fn run(&self, name: &str, more: &[&str]) -> (String, String) {
        let url = format!("file://{}", self.folder.path(name).display());
        let profile = format!("--user-data-dir={}", self.folder.path("profile").display());
        let mut command = Command::new(self.browser);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", &profile]);
        let output = command.args(self.arguments).args(more).arg(url).output().expect("the browser runs");
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// The page after its scripts have run. `None` if this browser cannot show a page here.
    fn text(&self, name: &str) -> Option<String> {
        let (seen, errors) = self.run(name, &["--dump-dom"]);
        if !seen.contains("id=\"slider\"") {
            testkit::passed_over(&format!("Chromium cannot show a page here: {errors}"));
            return None;
        }
        Some(seen)
    }

    /// Keeps a picture of the page.
    fn picture(&self, name: &str, to: &str, size: &str) {
        let path = pictures().join(to);
        self.run(name, &[&format!("--window-size={size}"), &format!("--screenshot={}", path.display())]);
        let bytes = std::fs::read(&path).expect("a picture was made");
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5_000, "{}", path.display());
    }
}

/// The folder for pictures.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../pages");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder.canonicalize().expect("it exists")
}

/// The page with a script that runs when it is loaded.
fn with_script(folder: &Folder, page: &str, to: &str, script: &str) {
    folder.write(to, folder.read(page).replace("</body>", &format!("<script>{script}</script></body>")));
}

/// Counts to 125 and fails.
const COUNTER: &str = "byte n;\nactive proctype P() {\n\tdo\n\t:: n < 125 -> n++\n\t:: n == 125 -> assert(false)\n\tod\n}\n";

#[test]
fn keys_and_the_slider_move_through_the_path() {
    let Some(browser) = browser() else {
        testkit::passed_over("Chromium is missing");
        return;
    };
    let folder = Folder::with("model.pml", COUNTER);
    folder.run(&["check", "model.pml", "--html", "report.html", "--coverage", "--no-merge"]).exits(1);
    let keys = "[\"Home\", \"ArrowRight\", \"j\", \"ArrowRight\", \"k\"].forEach(function (key) {\
                document.dispatchEvent(new KeyboardEvent(\"keydown\", { key: key })); });";
    with_script(&folder, "report.html", "pressed.html", keys);
    let opened = Opened { browser, folder: &folder, arguments: &[] };
    let Some(seen) = opened.text("pressed.html") else { return };
    // The second step: forward twice, once more, and back.
    assert!(seen.contains(">2 / 252<"), "{}", &seen[seen.find("id=\"count\"").unwrap_or(0)..][..200]);
    assert!(seen.contains("2. P(0): n++"));
    assert!(seen.contains("<tr class=\"changed\"><td class=\"code\">n</td><td class=\"code\">1</td></tr>"));
    assert!(seen.contains("id=\"l0-4\"") && seen.contains(" here\""));
    let slide = "var s = document.getElementById(\"slider\"); s.value = 100; s.dispatchEvent(new Event(\"input\"));";
    with_script(&folder, "report.html", "moved.html", slide);
    let seen = opened.text("moved.html").expect("the browser works");
    assert!(seen.contains(">100 / 252<") && seen.contains("100. P(0): n++"));
    assert!(seen.contains("<tr class=\"changed\"><td class=\"code\">n</td><td class=\"code\">50</td></tr>"));
    let click = "document.getElementById(\"back\").click(); document.querySelectorAll(\"tr[data-step]\")[6].click();";
    with_script(&folder, "report.html", "clicked.html", click);
    assert!(opened.text("clicked.html").expect("the browser works").contains(">7 / 252<"));
    opened.picture("moved.html", "slider.png", "1200,1400");
    // The page without its player, as it is printed.
    let paper = pictures().join("printed.pdf");
    opened.run("report.html", &[&format!("--print-to-pdf={}", paper.display())]);
    assert!(std::fs::read(&paper).is_ok_and(|bytes| bytes.starts_with(b"%PDF")));
}

#[test]
fn the_page_is_dark_if_the_user_wants_that() {
    let Some(browser) = browser() else {
        testkit::passed_over("Chromium is missing");
        return;
    };
    let model = "chan c = [0] of { byte };\nproctype P(byte i) { c ! i; c ? _ }\nproctype Q() { byte x; c ? x; assert(x != 2); c ? x }\n\
                 init { atomic { run P(1); run P(2); run Q() } }\n";
    let folder = Folder::with("model.pml", model);
    folder.run(&["check", "model.pml", "--html", "report.html", "--coverage"]).exits(1);
    // The brightness of the page and of a text on it.
    let measure = "var s = getComputedStyle(document.body); document.title = \"seen \" + s.backgroundColor + \" \" + s.color;";
    with_script(&folder, "report.html", "measured.html", measure);
    let brightness = |arguments: &[&str], picture: &str| {
        let opened = Opened { browser, folder: &folder, arguments };
        let seen = opened.text("measured.html")?;
        opened.picture("report.html", picture, "1200,1700");
        let title = seen.split("<title>seen ").nth(1).and_then(|rest| rest.split("</title>").next()).expect("measured").to_owned();
        let numbers: Vec<u32> = title.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers.len(), 6, "{title}");
        Some((numbers[..3].iter().sum::<u32>(), numbers[3..].iter().sum::<u32>()))
    };
    let Some((light_page, light_text)) = brightness(&["--blink-settings=preferredColorScheme=1"], "light.png") else { return };
    let (dark_page, dark_text) = brightness(&["--blink-settings=preferredColorScheme=0"], "dark.png").expect("the browser works");
    assert!(light_page > 600 && light_text < 300, "{light_page} {light_text}");
    assert!(dark_page < 200 && dark_text > 500, "{dark_page} {dark_text}");
}

#[test]
fn a_chart_of_500_steps_is_complete() {
    let Some(browser) = browser() else {
        testkit::passed_over("Chromium is missing");
        return;
    };
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
    // No box of the picture lies outside of it, and the last step is shown beside its text.
    let measure = "var svg = document.querySelector(\".picture svg\"), b = svg.getBoundingClientRect(), out = 0;\
                   svg.querySelectorAll(\"rect, text\").forEach(function (e) { var r = e.getBoundingClientRect();\
                   if (r.left < b.left - 1 || r.right > b.right + 1 || r.top < b.top - 1 || r.bottom > b.bottom + 1) { out += 1; } });\
                   var last = svg.querySelector(\"g.current\");\
                   document.title = \"seen \" + out + \" \" + (last ? last.id : \"none\") + \" \" + Math.round(b.height);";
    with_script(&folder, "report.html", "measured.html", measure);
    let opened = Opened { browser, folder: &folder, arguments: &[] };
    let Some(seen) = opened.text("measured.html") else { return };
    let title = seen.split("<title>seen ").nth(1).and_then(|rest| rest.split("</title>").next()).expect("measured");
    let words: Vec<&str> = title.split(' ').collect();
    assert_eq!(words[..2], ["0", format!("chart-{steps}").as_str()], "{title}");
    assert!(words[2].parse::<usize>().is_ok_and(|height| height > steps * 40), "{title}");
    // The chart alone, scrolled to its end by the page's own script.
    let alone = "document.querySelectorAll(\"body > *:not(.picture)\").forEach(function (e) { e.style.display = \"none\"; });";
    with_script(&folder, "report.html", "alone.html", alone);
    opened.picture("alone.html", "chart-500.png", "1300,760");
}
