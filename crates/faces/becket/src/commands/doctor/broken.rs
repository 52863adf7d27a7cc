//! Hooks that cannot do their work, as `becket hooks check` finds them without running them.

use std::path::Path;

use becket_check::Finding;
use becket_host::{Health, Report};

/// Adds what was found to the reports of the hooks that it is about; a finding about no such hook is a report of its
/// own.
pub fn add(reports: &mut Vec<Report>, found: Vec<Finding>, cwd: &Path) {
    for finding in found {
        let file = cwd.join(&finding.file).display().to_string();
        let line = finding.line.unwrap_or_default();
        let words = format!("{} (line {line})", finding.message);
        match of_hook(reports, &file, line) {
            Some(report) if matches!(report.state, Health::Wrong(_)) => {}
            Some(report) => report.state = Health::Wrong(words),
            None => reports.push(Report::new(format!("hook in {file}"), Some(words))),
        }
    }
}

/// The report of the hook in which a line of a file stands. Reports end with the place of their hook: the file, with a
/// line, or with a pointer, which leads to a hook only if the file has no other.
fn of_hook<'a>(reports: &'a mut [Report], file: &str, line: usize) -> Option<&'a mut Report> {
    let mut best: Option<(usize, usize)> = None;
    let mut pointers = Vec::new();
    for (index, report) in reports.iter().enumerate() {
        let place = report.what.split_once(&format!("({file}"));
        let Some(place) = place.and_then(|(_, rest)| rest.strip_suffix(')')) else {
            continue;
        };
        let start = match place.strip_prefix(':') {
            Some(start) => start.parse().unwrap_or(usize::MAX),
            None if place.is_empty() => 0,
            None => {
                pointers.push(index);
                continue;
            }
        };
        if start <= line && best.is_none_or(|(earlier, _)| earlier <= start) {
            best = Some((start, index));
        }
    }
    let only = match pointers[..] {
        [only] => Some(only),
        _ => None,
    };
    let index = best.map(|(_, index)| index).or(only)?;
    reports.get_mut(index)
}
