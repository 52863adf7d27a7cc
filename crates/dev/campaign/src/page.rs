//! `docs/reliability.md`: what the campaigns tried, with counts, date and seeds.

use std::collections::{BTreeMap, BTreeSet};

use crate::round::Campaign;
use crate::runs::one_line;
use crate::state::{Progress, State};

/// The beginning of the page.
const ABOUT: &str = "# What was tried to break becket

Campaigns search for faults with the real program and the real engine, for as long as you let them:

```
cargo xtask campaign --minutes 30             # all campaigns, from where the last run ended
cargo xtask campaign --minutes 10 kill disk   # only these
cargo xtask campaign --page                   # writes this page
```

A finding is one line with the command that repeats it, and becomes a test where it is mended.
";

/// The page for what has run with some seeds.
pub fn page(states: &[State], campaigns: &[Campaign]) -> String {
    let all = || states.iter().flat_map(|state| state.campaigns.values());
    let minutes = all().map(|progress| progress.seconds).sum::<f64>() / 60.0;
    let open: usize = all().map(|progress| progress.open.len()).sum();
    let date = states
        .iter()
        .map(|state| state.date.as_str())
        .max()
        .unwrap_or("never");
    let seeds: Vec<String> = states.iter().map(|state| state.seed.to_string()).collect();
    let programs: BTreeSet<&str> = states
        .iter()
        .flat_map(|state| &state.programs)
        .map(String::as_str)
        .collect();
    let programs: Vec<&str> = programs.into_iter().collect();
    let mut page = format!(
        "{ABOUT}\nThe last run: {date}. All runs together: {minutes:.0} minutes with {}, seeds {}.\n\
         Findings left open: {open}.\n",
        programs.join(", "),
        seeds.join(", "),
    );
    for campaign in campaigns {
        let of = |state: &'_ State| state.campaigns.contains_key(campaign.name);
        let states: Vec<&State> = states.iter().filter(|state| of(state)).collect();
        if !states.is_empty() {
            page.push_str(&format!("\n## {}\n\n{}\n\n", campaign.name, campaign.promise));
            page.push_str(&section(&states, campaign.name));
        }
    }
    page
}

fn section(states: &[&State], name: &str) -> String {
    let all = || {
        states
            .iter()
            .filter_map(|state| Some((state.seed, state.campaigns.get(name)?)))
    };
    let (mut counts, mut figures, mut skipped) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for (_, progress) in all() {
        for (what, times) in &progress.counts {
            *counts.entry(what).or_default() += times;
        }
        figures.extend(&progress.figures);
        skipped.extend(&progress.skipped);
    }
    let seconds: f64 = all().map(|(_, progress)| progress.seconds).sum();
    let rounds: u64 = all().map(|(_, progress)| progress.rounds).sum();
    let mut text = "| tried | times |\n|---|---:|\n".to_owned();
    for (what, times) in counts {
        text.push_str(&format!("| {what} | {} |\n", grouped(times)));
    }
    text.push_str(&format!(
        "\n{} rounds in {:.0} minutes.\n",
        grouped(rounds),
        seconds / 60.0
    ));
    if !figures.is_empty() {
        text.push_str("\n| measured | |\n|---|---|\n");
        figures
            .iter()
            .for_each(|(what, figure)| text.push_str(&format!("| {what} | {figure} |\n")));
    }
    let found = |of: fn(&Progress) -> &BTreeMap<u64, String>| -> Vec<String> {
        let lines = all().flat_map(|(seed, progress)| of(progress).iter().map(move |found| (seed, found)));
        lines
            .map(|(seed, (round, words))| format!("seed {seed}, round {round}: {}", one_line(words)))
            .collect()
    };
    let skipped: Vec<String> = skipped.into_iter().cloned().collect();
    for (title, lines) in [("Not tried", skipped), ("Open", found(|progress| &progress.open))] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n\n"));
            lines
                .iter()
                .for_each(|line| text.push_str(&format!("- {line}\n")));
        }
    }
    text
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_adds_up_the_seeds_and_names_what_is_open() {
        let state = |seed: u64, open: &[(u64, &str)]| {
            let progress = Progress {
                rounds: 600,
                seconds: 90.0,
                counts: [("kills".to_owned(), 1000)].into(),
                open: open
                    .iter()
                    .map(|(round, words)| (*round, (*words).to_owned()))
                    .collect(),
                ..Progress::default()
            };
            let campaigns = [("kill".to_owned(), progress)].into();
            State {
                seed,
                campaigns,
                ..State::default()
            }
        };
        let campaigns = [Campaign {
            name: "kill",
            promise: "Nothing is lost.",
            round: |_| Ok(()),
        }];
        let page = page(&[state(1, &[]), state(2, &[(7, "all\n  is lost")])], &campaigns);
        for part in [
            "All runs together: 3 minutes",
            "seeds 1, 2",
            "Findings left open: 1",
            "## kill\n\nNothing is lost.",
            "| kills | 2,000 |",
            "1,200 rounds in 3 minutes.",
            "- seed 2, round 7: all is lost",
        ] {
            assert!(page.contains(part), "no {part:?} in {page}");
        }
    }
}
