//! What the user is told of commands that the model has left in the background, when the chat ends.

use becket_run::Jobs;
use becket_system::{counted, harmless_name};

/// How many jobs are named.
const NAMED: usize = 3;

/// How many letters of a command are shown.
const SHOWN: usize = 60;

/// The jobs that still run, in words; `None` if there are none.
pub fn running_jobs(jobs: &Jobs) -> Option<String> {
    told(&jobs.running_commands())
}

fn told(commands: &[String]) -> Option<String> {
    if commands.is_empty() {
        return None;
    }
    let mut named: Vec<String> = commands.iter().take(NAMED).map(|line| short(line)).collect();
    if let Some(more) = commands.len().checked_sub(NAMED + 1) {
        named.push(format!("{} more", more + 1));
    }
    let verb = if commands.len() == 1 { "runs" } else { "run" };
    let count = counted(commands.len() as u64, "background job");
    Some(format!("{count} still {verb}: {}", named.join(", ")))
}

/// The beginning of a command.
fn short(command: &str) -> String {
    let command = harmless_name(command);
    match command.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &command[..end]),
        None => format!("`{command}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_jobs_are_counted_and_the_first_ones_named() {
        let commands = |count: usize| (1..=count).map(|job| format!("sleep {job}")).collect::<Vec<_>>();
        assert_eq!(told(&[]), None);
        let words = |count| told(&commands(count)).expect("some run");
        assert_eq!(words(1), "1 background job still runs: `sleep 1`");
        assert_eq!(
            words(5),
            "5 background jobs still run: `sleep 1`, `sleep 2`, `sleep 3`, 2 more"
        );
        let long = told(&["x".repeat(100)]).expect("it runs");
        assert!(long.ends_with("x…`") && long.len() < 110, "{long}");
    }
}
