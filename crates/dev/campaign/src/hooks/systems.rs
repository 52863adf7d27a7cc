//! What the systems with hooks in JSON files make of a broken guard's output: never a yes, and never silence.

use becket_dialects::FILE_SYSTEMS;
use becket_events::Class;
use becket_hooks::Finished;

use crate::round::{Round, ensure};

/// Refusals of all systems; one that is cut must not pass for silence.
const REFUSALS: &[&str] = &[
    r#"{"decision":"block","reason":"no"}"#,
    r#"{"decision":"deny","reason":"no"}"#,
    r#"{"permission":"deny","user_message":"no"}"#,
    r#"{"continue":false,"stopReason":"no"}"#,
    r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
];

/// Exit codes by which a shell says that a program is missing or was killed.
const UNFINISHED: &[i32] = &[126, 127, 129, 130, 134, 137, 139, 143];

pub fn round(round: &mut Round<'_>, answers: usize) -> Result<(), String> {
    for _ in 0..answers {
        let random = &mut round.random;
        let system = *random.choose(FILE_SYSTEMS);
        let mut contracts: Vec<_> = (system.rows)().iter().map(|row| row.contract()).collect();
        contracts.retain(|contract| contract.class == Class::Guard);
        let contract = random.choose(&contracts);
        let whole = random.choose(REFUSALS).as_bytes();
        let is_cut = random.once_in(2);
        let finished = Finished {
            stdout: match is_cut {
                true => whole[..1 + random.below(whole.len() - 1)].to_vec(),
                false => whole[..random.below(2) * whole.len()].to_vec(),
            },
            stderr: String::new(),
            code: if is_cut { 0 } else { *random.choose(UNFINISHED) },
            complete: true,
        };
        let heard = (system.hear)(contract, &finished);
        let passes = heard.as_ref().is_ok_and(|answer| !answer.says_something());
        ensure!(
            !passes,
            "{} at {}: {finished:?} is heard as {heard:?}",
            system.title,
            contract.name
        );
        round.count("broken answers of guards, in the readers of other systems", 1);
    }
    Ok(())
}
