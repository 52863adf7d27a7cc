//! `becket hooks report`: what hooks and rules in shadow would have done.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use becket_workbench::shadowed_since;
use serde_json::json;

use crate::options::Options;
use crate::printing::print;
use crate::since::since;

pub fn run(options: &Options, since_when: &str, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let earliest = since(since_when)?;
    let store = Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?;
    let all = shadowed_since(&store, earliest)?;
    if options.run.json {
        for shadowed in &all {
            print(&format!("{}\n", json!(shadowed)))?;
        }
        return Ok(Exit::Answered);
    }
    if all.is_empty() {
        surroundings.remark(&format!("nothing would have been stopped since {since_when}"));
        return Ok(Exit::Answered);
    }
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for one in &all {
        let group = groups.entry((&one.would, &one.reason, &one.hook)).or_default();
        group.push(&one.subject);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, subjects)| Reverse(subjects.len()));
    for ((would, reason, hook), subjects) in groups {
        let by = if hook.is_empty() { "rules" } else { hook };
        let last = subjects.last().copied().unwrap_or_default();
        let line = format!(
            "{:>5} × {would}: {reason}\n        by: {by}\n        last: {last}\n",
            subjects.len()
        );
        print(&harmless(&line))?;
    }
    Ok(Exit::Answered)
}
