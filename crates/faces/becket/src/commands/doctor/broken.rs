//! Hooks that cannot do their work, as `becket hooks check` finds them without running them.

use std::path::Path;

use becket_host::{Health, Report};

use crate::commands::hooks::BrokenHook;

/// Adds what was found to the reports of the hooks that it is about; what is about no such hook is a report of its own.
pub fn add(reports: &mut Vec<Report>, found: Vec<BrokenHook>, cwd: &Path) {
    for BrokenHook { file, line, finding } in found {
        let words = match finding.line {
            _ if finding.file != file => {
                let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
                format!("{}{line}: {}", finding.file.display(), finding.message)
            }
            Some(line) => format!("{} (line {line})", finding.message),
            None => finding.message,
        };
        // Hooks of the command line are named by their option.
        let shown = file.display().to_string();
        let place = match shown.starts_with("--") {
            true => shown,
            false => cwd.join(&file).display().to_string(),
        };
        match of_hook(reports, &place, line.unwrap_or_default()) {
            Some(report) if matches!(report.state, Health::Wrong(_)) => {}
            Some(report) => report.state = Health::Wrong(words),
            None => reports.push(Report::new(format!("hook in {place}"), Some(words))),
        }
    }
}

/// The report of the hook that begins at a line of a file. Reports end with the place of their hook: the file, with a
/// line, or with a pointer, which leads to a hook only if the file has no other; or the folder of a plugin.
fn of_hook<'a>(reports: &'a mut [Report], file: &str, line: usize) -> Option<&'a mut Report> {
    let mut best: Option<(usize, usize)> = None;
    let mut pointers = Vec::new();
    for (index, report) in reports.iter().enumerate() {
        let place = report
            .what
            .rsplit_once('(')
            .and_then(|(_, place)| place.strip_suffix(')'));
        let Some(place) = place else { continue };
        let Some(rest) = place.strip_prefix(file) else {
            let is_plugin = report.what.starts_with("plugin ") && Path::new(file).starts_with(place);
            best = best.or(is_plugin.then_some((0, index)));
            continue;
        };
        let start = match rest.strip_prefix(':') {
            Some(start) => start.parse().unwrap_or(usize::MAX),
            None if rest.is_empty() => 0,
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
