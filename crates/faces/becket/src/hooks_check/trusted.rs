//! What of the working directory does not count before it is trusted, and what is not as the project's lock says.

use super::{Finding, Kind, Severity};
use crate::assemble::Setup;
use becket_trust::{Item, Judged, Kind as Thing, LOCK_FILE};

/// What is found about everything that the project brings.
pub fn untrusted(setup: &Setup) -> Vec<Finding> {
    let things = &setup.project.things;
    let mut findings: Vec<Finding> = things.iter().filter_map(not_trusted).collect();
    findings.extend(things.iter().filter_map(unlike_lock));
    let items: Vec<&Item> = things.iter().map(|judged| &judged.item).collect();
    let gone = setup.trust.locked().map(|lock| lock.missing(&items));
    findings.extend(gone.into_iter().flatten().map(|name| Finding {
        file: LOCK_FILE.into(),
        line: None,
        kind: Kind::UnlikeLock,
        severity: Severity::Wrong,
        message: format!("the lock names {name}, which is not there"),
        hint: Some("`becket hooks trust --lock` writes it anew".into()),
    }));
    findings
}

fn not_trusted(judged: &Judged) -> Option<Finding> {
    let words = match &judged.item.trouble {
        _ if judged.item.kind == Thing::Absence => "it was trusted, and no run starts without it".into(),
        Some(trouble) => format!("it cannot be trusted by its content: {trouble}"),
        None => "it is not trusted here, so it does not count".into(),
    };
    (!judged.is_trusted()).then(|| Finding {
        severity: Severity::Remark,
        hint: Some("`becket hooks trust --show` shows what would run".into()),
        ..finding(judged, Kind::Untrusted, &words)
    })
}

fn unlike_lock(judged: &Judged) -> Option<Finding> {
    let words = judged.unlike_lock.as_ref()?;
    Some(Finding {
        hint: Some("look at it, and then `becket hooks trust --all --lock`".into()),
        ..finding(judged, Kind::UnlikeLock, words)
    })
}

fn finding(judged: &Judged, kind: Kind, words: &str) -> Finding {
    let item = &judged.item;
    let file = if item.source.is_empty() {
        LOCK_FILE
    } else {
        &item.source
    };
    Finding {
        file: file.into(),
        line: None,
        kind,
        severity: Severity::Wrong,
        message: format!("{}: {words}", item.title()),
        hint: None,
    }
}
