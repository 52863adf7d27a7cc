//! Finds what is wrong with hooks before they run. Nothing is run.
//!
//! A format provides its hooks as [`CheckedHook`]s (`hook.rs`, becket's own in `own.rs`). Everything else is the same
//! for all: `programs.rs` finds the programs in a command (`shell.rs`) that the machine lacks, `scripts.rs` looks into
//! the scripts that hooks run, `syntax.rs` asks whether they can be read, `echoes.rs` what shells would change in them,
//! `answers.rs` looks at what hooks answer, with `written.rs` for what scripts write, `told.rs` is for guests that are
//! themselves a hook. `sarif.rs` writes findings for other tools.

mod answers;
pub mod echoes;
mod finding;
mod hook;
mod own;
mod places;
mod programs;
mod sarif;
mod scripts;
pub mod shell;
mod syntax;
mod told;
pub mod written;

use std::time::Duration;

use becket_events::EventId;

pub use answers::{GUESTS, answers_of, has_key, objects, wrong_answer};
pub use finding::{Finding, Kind, Severity};
pub use hook::{CheckedHook, HookFile, Machine, NamedFile, Start, Subject, ToolNames, boxed};
pub use own::seems_to_rewrite;
pub use places::finding_at;
pub use sarif::{SarifResult, sarif, sarif_log};
pub use scripts::{LARGEST, RelativeScript, relative_scripts};
pub use told::{Told, line_of};

/// The checks that are the same for all formats, in the order of their findings.
const CHECKS: &[fn(&Subject<'_>) -> Vec<Finding>] = &[
    programs::check,
    scripts::missing_folder,
    scripts::check,
    scripts::unquoted_paths,
    syntax::check,
    echoes::check,
    long_timeouts,
];

/// How long a hook may take at an event that comes many times in one answer: everything waits for it each time.
const BUDGET_OF_PIECES: Duration = Duration::from_secs(5);

/// How long a hook may take at the end of a session, when the user wants to leave.
const BUDGET_OF_THE_END: Duration = Duration::from_secs(60);

/// How long a hook may take anywhere else.
const BUDGET: Duration = Duration::from_secs(600);

/// All findings in a file.
pub fn check(file: &HookFile, machine: &Machine) -> Vec<Finding> {
    let mut findings = file.findings.clone();
    findings.extend(
        by_hook(file, machine)
            .into_iter()
            .flat_map(|(_, findings)| findings),
    );
    findings.extend(answers::same_rewrites(file));
    findings.extend(twice(file));
    findings
}

/// What is wrong with each hook of a file alone, with the line at which the hook begins.
pub fn by_hook(file: &HookFile, machine: &Machine) -> Vec<(Option<usize>, Vec<Finding>)> {
    let hooks = file.hooks.iter().map(|hook| {
        let subject = Subject {
            file,
            hook: &**hook,
            machine,
        };
        let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&subject)).collect();
        findings.extend(hook.check(&subject));
        (hook.line(), findings)
    });
    hooks.collect()
}

/// Finds hooks that are in a file twice: everything they do is done twice.
fn twice(file: &HookFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, hook) in file.hooks.iter().enumerate() {
        let same = |other: &dyn CheckedHook| {
            other.fingerprint() == hook.fingerprint() && hook.fingerprint().is_some()
        };
        if let Some(first) = file.hooks[..index].iter().find(|other| same(&***other)) {
            let line = first
                .line()
                .map_or(String::new(), |line| format!(" in line {line}"));
            findings.push(Finding {
                file: file.file.clone(),
                line: hook.line(),
                kind: Kind::Twice,
                severity: Severity::Wrong,
                message: format!("the same hook is already there{line}"),
                hint: Some("leave one of them out".into()),
            });
        }
    }
    findings
}

/// Finds hooks that may block for longer than is good for their event.
fn long_timeouts(subject: &Subject<'_>) -> Vec<Finding> {
    let (Some((event, _)), Some(timeout)) = (subject.hook.event(), subject.hook.timeout()) else {
        return Vec::new();
    };
    let budget = match event {
        EventId::MessageUpdate | EventId::ResponseData | EventId::ToolUpdate => BUDGET_OF_PIECES,
        EventId::SessionEnd | EventId::Settled => BUDGET_OF_THE_END,
        _ => BUDGET,
    };
    let said = subject.file.text.contains("timeout");
    if timeout <= budget || !said {
        return Vec::new();
    }
    vec![Finding {
        line: subject.line_with("timeout"),
        hint: Some(format!("give it at most {} seconds", budget.as_secs())),
        ..subject.finding(
            Kind::LongTimeout,
            format!(
                "everybody waits for it up to {} s whenever {} fires",
                timeout.as_secs_f64(),
                event.info().name
            ),
        )
    }]
}
