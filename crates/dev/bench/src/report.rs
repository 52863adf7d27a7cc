//! The output: one line for each figure, with its bar and whether it keeps it.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use serde_json::json;

/// Why a benchmark could not run.
pub type Problem = Box<dyn std::error::Error>;

/// A figure with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    Time(Duration),
    /// Nanoseconds, for what takes less than a microsecond.
    Nanoseconds(f64),
    Bytes(u64),
    Times(f64),
}

/// A figure of the report.
pub struct Line {
    name: String,
    value: Figure,
    bar: Option<Figure>,
    ratio: Option<f64>,
    remark: String,
}

impl Line {
    /// A figure under a name.
    pub fn new(name: impl Into<String>, value: Figure) -> Self {
        Self {
            name: name.into(),
            value,
            bar: None,
            ratio: None,
            remark: String::new(),
        }
    }

    /// The line with an upper limit for the figure.
    pub fn bar(mut self, bar: Figure) -> Self {
        self.bar = Some(bar);
        self
    }

    /// The line with the figure's relation to what it is compared with.
    pub fn ratio(mut self, ratio: f64) -> Self {
        self.ratio = Some(ratio);
        self
    }

    /// The line with a remark.
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }

    fn keeps_bar(&self) -> Option<bool> {
        self.bar.map(|bar| self.value.amount() <= bar.amount())
    }
}

/// Prints lines as they come, and remembers whether a bar was missed or a benchmark failed.
pub struct Report {
    json: bool,
    began: bool,
    incomplete: bool,
    missed: bool,
}

impl Report {
    /// An empty report.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            began: false,
            incomplete: false,
            missed: false,
        }
    }

    /// Prints a line.
    pub fn add(&mut self, line: Line) {
        let verdict = match line.keeps_bar() {
            Some(true) => "OK",
            Some(false) => "OVER",
            None => "",
        };
        self.missed |= verdict == "OVER";
        if self.json {
            let object = json!({
                "name": line.name,
                "value": line.value.amount(),
                "unit": line.value.unit(),
                "bar": line.bar.map(Figure::amount),
                "ratio": line.ratio,
                "verdict": (!verdict.is_empty()).then_some(verdict),
                "remark": line.remark,
            });
            return print(&object.to_string());
        }
        if !self.began {
            self.began = true;
            print(&row(["name", "value", "bar", "ratio", "", "remark"]));
        }
        let bar = line.bar.map(|bar| format!("<= {bar}")).unwrap_or_default();
        let ratio = line.ratio.map(|ratio| format!("{ratio:.2}x")).unwrap_or_default();
        print(&row([
            &line.name,
            &line.value.to_string(),
            &bar,
            &ratio,
            verdict,
            &line.remark,
        ]));
    }

    /// Prints that a part was skipped because the machine lacks something.
    pub fn skipped(&self, name: &str, needs: &str) {
        if self.json {
            return print(&json!({"name": name, "skipped": needs}).to_string());
        }
        print(&format!("{name}: skipped: needs {needs}"));
    }

    /// Prints that a benchmark could not run.
    pub fn could_not_run(&mut self, name: &str, problem: &dyn std::error::Error) {
        self.incomplete = true;
        if self.json {
            return print(&json!({"name": name, "problem": problem.to_string()}).to_string());
        }
        print(&format!("{name}: could not run: {problem}"));
    }

    /// Whether a benchmark could not run.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Whether a bar was missed.
    pub fn has_missed_bars(&self) -> bool {
        self.missed
    }
}

impl Figure {
    /// The number in its unit.
    fn amount(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64() * 1e6,
            Self::Nanoseconds(amount) | Self::Times(amount) => amount,
            Self::Bytes(bytes) => bytes as f64,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Time(_) => "us",
            Self::Nanoseconds(_) => "ns",
            Self::Bytes(_) => "bytes",
            Self::Times(_) => "x",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) if time.as_micros() >= 10_000 => {
                write!(formatter, "{:.1} ms", time.as_secs_f64() * 1e3)
            }
            Self::Time(time) => write!(formatter, "{:.1} us", time.as_secs_f64() * 1e6),
            Self::Nanoseconds(amount) => write!(formatter, "{amount:.1} ns"),
            Self::Bytes(bytes) if *bytes >= 1_000_000 => write!(formatter, "{:.1} MB", *bytes as f64 / 1e6),
            Self::Bytes(bytes) => write!(formatter, "{:.1} kB", *bytes as f64 / 1e3),
            Self::Times(times) => write!(formatter, "{times:.2}x"),
        }
    }
}

fn row(cells: [&str; 6]) -> String {
    let [name, value, bar, ratio, verdict, remark] = cells;
    let row = format!("{name:<34} {value:>11} {bar:>13} {ratio:>8}  {verdict:<4}  {remark}");
    row.trim_end().to_owned()
}

fn print(line: &str) {
    // A reader that has gone away does not end the run.
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_figure_over_its_bar_is_a_missed_bar() {
        let time = |micros| Figure::Time(Duration::from_micros(micros));
        let mut report = Report::new(true);
        report.add(Line::new("no bar", time(7)));
        report.add(Line::new("on the bar", time(100)).bar(time(100)));
        report.add(Line::new("under the bar", Figure::Bytes(1)).bar(Figure::Bytes(2)));
        assert!(!report.has_missed_bars());
        report.add(Line::new("over the bar", Figure::Times(1.31)).bar(Figure::Times(1.3)));
        assert!(report.has_missed_bars() && !report.is_incomplete());
    }
}
