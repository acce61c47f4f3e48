//! Drives Chromium by its own protocol (Chrome DevTools Protocol), without any library: the browser
//! reads and writes JSON messages, each ended by a zero byte, on the descriptors 3 and 4
//! (`--remote-debugging-pipe`). Two named pipes connect them. Keys and the pointer are real events:
//! the browser decides which element gets them.

use super::Folder;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A browser that does not answer for so long is broken, also on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: File,
    /// The messages of the browser.
    from: Receiver<Value>,
    last: u64,
    /// The connection to the page, once there is one.
    session: Option<String>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts a browser. `None`, with a word, if there is none or if it does not work here.
    pub fn start(folder: &Folder) -> Option<Browser> {
        let name = ["chromium", "chromium-browser"]
            .into_iter()
            .find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()));
        let Some(name) = name else {
            testkit::passed_over("Chromium is missing");
            return None;
        };
        let (to, from) = (folder.path("to-browser"), folder.path("from-browser"));
        if !Command::new("mkfifo").args([&to, &from]).status().is_ok_and(|status| status.success()) {
            testkit::passed_over("there is no `mkfifo`, by which Chromium is driven");
            return None;
        }
        let profile = format!("--user-data-dir={}", folder.path("profile").display());
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$@\" 3<\"$TO\" 4>\"$FROM\"", "sh", name, "--headless", "--no-sandbox", "--disable-gpu", &profile]);
        shell.args(["--remote-debugging-pipe", "--hide-scrollbars", "about:blank"]).env("TO", &to).env("FROM", &from);
        let child = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell");
        // Each end of a pipe waits for the other.
        let to = OpenOptions::new().write(true).open(to).expect("a pipe");
        let answers = File::open(from).expect("a pipe");
        let (sender, from) = channel();
        thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let sent = serde_json::from_slice(&message).map(|message| sender.send(message).is_ok());
                if !sent.unwrap_or(true) {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Browser { child, to, from, last: 0, session: None };
        let Some(target) = browser.try_ask("Target.createTarget", json!({ "url": "about:blank" })) else {
            testkit::passed_over("Chromium does not start here");
            return None;
        };
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.ask("Page.enable", json!({}));
        browser.size(1200, 900);
        Some(browser)
    }

    fn try_ask(&mut self, method: &str, parameters: Value) -> Option<Value> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).ok()?;
        loop {
            let mut answer = self.from.recv_timeout(PATIENCE).ok()?;
            // Other messages tell what happened.
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return Some(answer["result"].take());
            }
        }
    }

    /// The answer to a command.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.try_ask(method, parameters).unwrap_or_else(|| panic!("{method}: the browser does not answer"))
    }

    /// Opens a file from disk, and waits until its scripts have run.
    pub fn open(&mut self, path: &Path) {
        self.ask("Page.navigate", json!({ "url": format!("file://{}", path.display()) }));
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let ready = format!("document.readyState === 'complete' && location.pathname.endsWith('/{name}')");
        let begun = std::time::Instant::now();
        while self.value(&ready) != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "{name} is not loaded");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let mut answer = self.ask("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// The text of the first element that a selector finds.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("(document.querySelector({}) || {{ textContent: '-' }}).textContent", json!(selector)));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key, as a keyboard does.
    pub fn press(&mut self, key: &str) {
        let (code, number) = match key {
            "ArrowLeft" => (key.to_owned(), 37),
            "ArrowRight" => (key.to_owned(), 39),
            "Home" => (key.to_owned(), 36),
            "End" => (key.to_owned(), 35),
            "PageUp" => (key.to_owned(), 33),
            "PageDown" => (key.to_owned(), 34),
            "Tab" => (key.to_owned(), 9),
            letter => {
                let upper = letter.to_uppercase();
                (format!("Key{upper}"), u32::from(upper.as_bytes()[0]))
            }
        };
        for kind in ["rawKeyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number }));
        }
    }

    /// Presses the button of the pointer at a part of the first element that a selector finds: 0 is
    /// its left end and 1 its right end. The element is scrolled into view.
    pub fn click(&mut self, selector: &str, part: f64) {
        let place = format!(
            "(function () {{ var e = document.querySelector({}); e.scrollIntoView({{ block: 'center' }}); var r = e.getBoundingClientRect(); \
             return [r.left + r.width * {part}, r.top + r.height / 2]; }})()",
            json!(selector)
        );
        let place = self.value(&place);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": button, "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Sets the size of the window.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
    }

    /// Shows the page on a medium, `screen` or `print`, in the dark or in the light.
    pub fn medium(&mut self, medium: &str, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features }));
    }

    /// Keeps a picture of the window.
    pub fn picture(&mut self, to: &Path) {
        let answer = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = decoded(answer["data"].as_str().unwrap_or_default());
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5_000, "{}", to.display());
        std::fs::write(to, bytes).expect("the picture can be written");
    }

    /// Keeps the page as it is printed. Returns the number of sheets.
    pub fn print(&mut self, to: &Path) -> usize {
        let answer = self.ask("Page.printToPDF", json!({ "printBackground": true }));
        let bytes = decoded(answer["data"].as_str().unwrap_or_default());
        assert!(bytes.starts_with(b"%PDF"), "{}", to.display());
        let sheets = bytes.windows(11).filter(|window| *window == b"/Type /Page" as &[u8]).count();
        std::fs::write(to, bytes).expect("the file can be written");
        sheets
    }
}

/// The bytes of a text in base 64.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for value in text.bytes().filter_map(digit) {
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
