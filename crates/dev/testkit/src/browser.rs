//! A real browser: Chromium, driven by `browser.mjs` over the DevTools protocol.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::needs;

/// A browser with one page. It is closed when this is dropped.
pub struct Browser {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Browser {
    /// Opens a page, if this machine has a browser; otherwise prints that the test is skipped.
    pub fn open(url: &str) -> Option<Self> {
        if !needs("node") || !needs("chromium") {
            return None;
        }
        let mut child = Command::new("node")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/browser.mjs"))
            .arg("chromium")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node can be started");
        let answers = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut browser = Self {
            orders: child.stdin.take(),
            child,
            answers,
        };
        browser.order(&json!({"action": "open", "url": url}));
        Some(browser)
    }

    /// Sends a command to the browser and returns its result.
    fn order(&mut self, order: &Value) -> Value {
        let orders = self.orders.as_mut().expect("it has not ended");
        writeln!(orders, "{order}").expect("the browser is there");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the browser answers");
        let mut answer: Value = serde_json::from_str(&line).expect("it answers with JSON");
        assert_eq!(answer["error"], Value::Null, "{order}");
        answer["value"].take()
    }

    /// Waits until an expression of the page is true.
    pub fn wait(&mut self, code: &str) {
        self.order(&json!({"action": "wait", "code": code}));
    }

    /// Clicks at the middle of an element, as a mouse does.
    pub fn click(&mut self, selector: &str) {
        self.order(&json!({"action": "click", "selector": selector}));
    }

    /// Clicks at a place of the page.
    pub fn click_at(&mut self, x: f64, y: f64) {
        self.order(&json!({"action": "at", "x": x, "y": y}));
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        self.order(&json!({"action": "key", "key": key}));
    }

    /// The value of an expression of the page.
    pub fn evaluate(&mut self, code: &str) -> Value {
        self.order(&json!({"action": "evaluate", "code": code}))
    }

    /// The text of an element.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!("document.querySelector({}).innerText", json!(selector)));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Gives the page another size.
    pub fn resize(&mut self, width: u32, height: u32) {
        self.order(&json!({"action": "size", "width": width, "height": height}));
    }

    /// Lets the page save files in a folder.
    pub fn save_in(&mut self, folder: &Path) {
        self.order(&json!({"action": "downloads", "folder": folder}));
    }

    /// Lets the page see a preference for `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        self.order(&json!({"action": "scheme", "dark": scheme == "dark"}));
    }

    /// Writes a screenshot into a file, as PNG.
    pub fn picture(&mut self, file: &str) {
        self.order(&json!({"action": "picture", "file": file}));
    }

    /// Asserts that the page's own policy refused nothing, and that no error was thrown.
    pub fn had_no_trouble(&mut self) {
        assert_eq!(self.order(&json!({"action": "complaints"})), json!([]));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}
