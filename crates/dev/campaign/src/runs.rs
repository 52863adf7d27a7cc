//! A run: gives each campaign the same share of the time, round by round, and tells what they find.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::round::{Campaign, Round};
use crate::state::State;

/// After so many findings a campaign rests until the next run: they are likely the same.
const MOST_FINDINGS: usize = 5;

/// How often a finding of an earlier run is tried before it counts as mended.
const TRIES: usize = 5;

/// How often a run says how far it is.
const NEWS: Duration = Duration::from_secs(60);

/// The longest time that a round should take.
const ROUND: Duration = Duration::from_secs(20);

/// What the last panic said, and where.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// A run of campaigns.
pub struct Runs<'a> {
    pub campaigns: Vec<&'static Campaign>,
    pub program: &'a Path,
    pub state: State,
}

impl Runs<'_> {
    /// Runs for so many minutes. The error says how many findings there are.
    pub fn run(&mut self, minutes: f64) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
        note_panics();
        if let Some((name, number)) = self.state.running.take() {
            self.found(&name, number, "the process died".into());
        }
        for campaign in &self.campaigns {
            // What was missing may be there now.
            self.state.progress(campaign.name).skipped.clear();
        }
        self.try_open_again(until)?;
        let mut spent = vec![Duration::ZERO; self.campaigns.len()];
        let mut found = vec![0; self.campaigns.len()];
        let mut news = Instant::now();
        while Instant::now() < until {
            let awake = (0..spent.len()).filter(|place| found[*place] < MOST_FINDINGS);
            let Some(next) = awake.min_by_key(|place| spent[*place]) else {
                break;
            };
            let begun = Instant::now();
            let campaign = self.campaigns[next];
            let number = self.state.progress(campaign.name).rounds;
            if let Err(words) = self.round(campaign, number, until)? {
                found[next] += 1;
                self.found(campaign.name, number, words);
            }
            let progress = self.state.progress(campaign.name);
            progress.rounds += 1;
            progress.seconds += begun.elapsed().as_secs_f64();
            self.state.save()?;
            spent[next] += begun.elapsed();
            if news.elapsed() > NEWS {
                news = Instant::now();
                self.tell();
            }
        }
        self.tell();
        self.outcome()
    }

    /// Repeats one round of the only campaign, without a trace in the state.
    pub fn repeat(&mut self, number: u64) -> Result<(), String> {
        let [campaign] = self.campaigns[..] else {
            return Err("--round needs the name of one campaign".into());
        };
        match self.attempt(campaign, number, Instant::now() + ROUND) {
            Ok(()) => {
                println!("{} round {number}: nothing found", campaign.name);
                Ok(())
            }
            Err(words) => Err(words),
        }
    }

    /// Tries again what was found in earlier runs: it may be mended. What depends on time may only hide, so each is
    /// tried several times.
    fn try_open_again(&mut self, until: Instant) -> Result<(), String> {
        for campaign in self.campaigns.clone() {
            let open = self.state.progress(campaign.name).open.clone();
            for (number, before) in open {
                let mut last = Ok(());
                for _ in 0..TRIES {
                    if last.is_ok() {
                        last = self.round(campaign, number, until)?;
                    }
                }
                match last {
                    Err(words) => self.found(campaign.name, number, words),
                    Ok(()) => {
                        println!(
                            "not found again: {} round {number}: {}",
                            campaign.name,
                            one_line(&before)
                        );
                        let progress = self.state.progress(campaign.name);
                        progress.open.remove(&number);
                        progress.closed.insert(number, before);
                    }
                }
                self.state.save()?;
            }
        }
        Ok(())
    }

    /// One round, noted before it begins. The outer error is of this program.
    fn round(
        &mut self,
        campaign: &'static Campaign,
        number: u64,
        until: Instant,
    ) -> Result<Result<(), String>, String> {
        self.state.running = Some((campaign.name.into(), number));
        self.state.date = chrono::Utc::now().format("%Y-%m-%d").to_string();
        self.state.save()?;
        let result = self.attempt(campaign, number, until.min(Instant::now() + ROUND));
        self.state.running = None;
        Ok(result)
    }

    fn attempt(&mut self, campaign: &Campaign, number: u64, until: Instant) -> Result<(), String> {
        let folder = self.state.folder.join(campaign.name);
        let mut round = Round {
            number,
            random: Random::new(self.state.seed, campaign.name, number),
            until,
            program: self.program,
            folder,
            progress: self.state.campaigns.entry(campaign.name.to_owned()).or_default(),
        };
        let run = AssertUnwindSafe(|| (campaign.round)(&mut round));
        catch_unwind(run)
            .unwrap_or_else(|_| Err(PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }

    fn found(&mut self, name: &str, number: u64, words: String) {
        let again = format!(
            "cargo xtask campaign --seed {} --round {number} {name}",
            self.state.seed
        );
        println!("finding: {name}: {}; again: {again}", one_line(&words));
        self.state.progress(name).open.insert(number, words);
    }

    fn tell(&self) {
        for campaign in &self.campaigns {
            let Some(progress) = self.state.campaigns.get(campaign.name) else {
                continue;
            };
            let counts = progress.counts.iter();
            let counts: Vec<String> = counts.map(|(what, times)| format!("{times} {what}")).collect();
            println!(
                "{}: {} rounds, {:.0} s: {}",
                campaign.name,
                progress.rounds,
                progress.seconds,
                counts.join(", ")
            );
        }
    }

    fn outcome(&self) -> Result<(), String> {
        let open: usize = self
            .state
            .campaigns
            .values()
            .map(|progress| progress.open.len())
            .sum();
        match open {
            0 => Ok(()),
            _ => Err(format!("findings: {open}")),
        }
    }
}

/// Keeps the words of a panic for the finding, in place of printing them.
fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.payload_as_str().unwrap_or("a panic without words");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = format!("{words} ({place})");
    }));
}

/// The beginning of a finding, on one line.
pub fn one_line(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(400).collect()
}
