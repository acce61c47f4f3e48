//! The report of a check in a real browser: it is opened from disk, and keys move through the path.
//! The test is skipped if there is no Chromium.

mod common;

use common::Folder;
use std::process::Command;

/// Presses keys when the page is loaded.
const KEYS: &str = "<script>[\"Home\", \"ArrowRight\", \"j\", \"ArrowRight\", \"k\"].forEach(function (key) {\
document.dispatchEvent(new KeyboardEvent(\"keydown\", { key: key })); });</script></body>";

fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()))
}

#[test]
fn keys_move_through_the_path() {
    let Some(browser) = browser() else {
        testkit::passed_over("Chromium is missing");
        return;
    };
    let model = "byte n;\nactive proctype P() {\n\tdo\n\t:: n < 125 -> n++\n\t:: n == 125 -> assert(false)\n\tod\n}\n";
    let folder = Folder::with("model.pml", model);
    folder.run(&["check", "model.pml", "--html", "report.html", "--coverage", "--no-merge"]).exits(1);
    let page = folder.read("report.html").replace("</body>", KEYS);
    folder.write("pressed.html", page);
    let url = format!("file://{}", folder.path("pressed.html").display());
    let profile = format!("--user-data-dir={}", folder.path("profile").display());
    let arguments = ["--headless", "--no-sandbox", "--disable-gpu", &profile, "--dump-dom", &url];
    let output = Command::new(browser).args(arguments).output().expect("the browser runs");
    let seen = String::from_utf8_lossy(&output.stdout);
    if !seen.contains("id=\"slider\"") {
        testkit::passed_over(&format!("Chromium cannot show a page here: {}", String::from_utf8_lossy(&output.stderr)));
        return;
    }
    // The second step: forward twice, once more, and back.
    assert!(seen.contains(">2 / 252<"), "{}", &seen[seen.find("id=\"count\"").unwrap_or(0)..][..200]);
    assert!(seen.contains("2. P(0): n++"));
    assert!(seen.contains("<tr class=\"changed\"><td class=\"code\">n</td><td class=\"code\">1</td></tr>"));
    assert!(seen.contains("id=\"l0-4\"") && seen.contains(" here\""));
}
