//! The examples under `examples/pi` are proofs: each is driven by a test that would notice if one of the events or
//! members in its row of the table were missing.
//!
//! A test plays a scene with the example as it is, and sees its effect. Then it plays the same scene once for each word
//! of its row, with that event or member broken (`broken.ts`), and the scene must fail each time. So a row cannot claim
//! what the test does not look at, and an event or a member that nothing proves is found by the tests at the end.

mod proofs;
mod scenes;
mod stage;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use becket_pi::{Support, api, rows};
use testkit::{Finished, finish, needs};

use proofs::{PROOFS, Proof};
use stage::{Fault, Stage};

/// Makes a test of each scene, and a list of their names.
macro_rules! proven {
    ($($scene:ident)*) => {
        const SCENES: &[&str] = &[$(stringify!($scene)),*];
        $(
            #[test]
            fn $scene() {
                prove(stringify!($scene), scenes::$scene);
            }
        )*
    };
}

proven! {
    several_calls_are_made_in_one
    what_there_is_to_work_with_is_shown
    what_was_asked_on_a_branch_is_told
    only_labelled_places_are_forked
    a_prompt_may_take_so_many_turns
    a_session_may_use_so_many_tokens
    a_session_ends_quietly
    the_coach_speaks_up_in_between
    changes_are_looked_at_once_more
    the_diary_counts_and_is_heard
    the_gate_refuses_what_nobody_allows
    the_handbook_is_called_by_name
    the_person_s_own_commands_pass_the_gate
    the_session_is_inspected
    the_models_are_inspected
    keys_and_the_system_prompt_are_inspected
    the_model_inspects_itself
    the_model_names_the_session
    the_gateway_knows_the_session
    few_requests_are_left
    notes_come_back_in_the_next_session
    places_get_labels
    parrots_answer_and_fly_away
    prompts_say_more_than_was_typed
    old_outputs_are_shortened
    keys_stay_out_of_the_conversation
    a_conversation_is_kept_small
    what_was_said_is_forgotten
    commits_are_summed_up
    a_session_says_what_it_can_do
    the_model_is_kept_at_its_list
    thinking_costs_no_more_than_it_must
    the_tour_comes_to_its_end_without_a_person
    the_transcript_is_written_while_things_happen
    the_transcript_tells_of_another_session
    the_transcript_has_the_name_of_the_session
    the_model_goes_on_while_the_check_is_red
    a_session_is_not_left_while_the_check_is_red
    a_thread_is_begun_and_left_again
    a_question_is_asked_in_other_words
    a_question_is_taken_back
    extensions_are_loaded_anew_by_one
    a_command_is_watched_until_it_says_the_word
    a_command_runs_when_everything_is_done
}

/// Scenes that need a program.
const NEEDS: &[(&str, &str)] = &[("the_person_s_own_commands_pass_the_gate", "python3")];

/// Plays a scene with its example as it is, and broken in each way that its row names.
fn prove(test: &str, scene: fn(&Stage)) {
    let proof = PROOFS
        .iter()
        .find(|proof| proof.test == test)
        .expect("every scene has a row in the table");
    if NEEDS
        .iter()
        .any(|(scene, program)| *scene == test && !needs(program))
    {
        return;
    }
    scene(&Stage::of(proof.example, None));
    scene(&Stage::of(proof.example, Some(Fault::NONE)));
    let unnoticed: Vec<Fault> = faults(proof)
        .filter(|fault| {
            let stage = Stage::of(proof.example, Some(*fault));
            catch_unwind(AssertUnwindSafe(|| scene(&stage))).is_ok()
        })
        .collect();
    assert!(
        unnoticed.is_empty(),
        "{test} is green without what it claims to prove: {unnoticed:#?}"
    );
}

/// Everything that a row claims, as what could be wrong with it.
fn faults(proof: &Proof) -> impl Iterator<Item = Fault> {
    let claims = [
        ("hears", proof.hears),
        ("does", proof.does),
        ("tells", proof.tells),
        ("takes", proof.takes),
    ];
    let faults = claims
        .into_iter()
        .flat_map(|(how, names)| names.split_whitespace().map(move |name| Fault { how, name }));
    faults.collect::<Vec<_>>().into_iter()
}

/// The names of one column of all rows.
fn claimed(column: fn(&Proof) -> &'static str) -> BTreeSet<&'static str> {
    PROOFS
        .iter()
        .flat_map(|proof| column(proof).split_whitespace())
        .collect()
}

#[test]
fn every_row_has_its_scene_and_every_example_a_row() {
    let rows: Vec<&str> = PROOFS.iter().map(|proof| proof.test).collect();
    let distinct: BTreeSet<&str> = rows.iter().copied().collect();
    assert_eq!(distinct.len(), rows.len(), "two rows with one test");
    assert_eq!(distinct, SCENES.iter().copied().collect());
    let folder = std::fs::read_dir(crate::repository_file("examples/pi")).expect("a folder");
    let files = folder.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    let files: BTreeSet<String> = files.filter(|name| name.ends_with(".ts")).collect();
    let proven = PROOFS.iter().map(|proof| format!("{}.ts", proof.example));
    assert_eq!(proven.collect::<BTreeSet<_>>(), files);
}

#[test]
fn every_event_is_proven() {
    let proven = claimed(|proof| proof.hears);
    for row in rows() {
        assert!(proven.contains(row.name()), "nothing proves {}", row.name());
    }
}

#[test]
fn every_member_that_is_there_is_proven() {
    let works: BTreeSet<_> = &claimed(|proof| proof.does) | &claimed(|proof| proof.tells);
    let takes = claimed(|proof| proof.takes);
    for member in api() {
        let name = member.path();
        let proven = match member.state {
            Support::Works => works.contains(name.as_str()),
            Support::Quiet | Support::OnScreen => takes.contains(name.as_str()),
            Support::Later => !works.contains(name.as_str()) && !takes.contains(name.as_str()),
        };
        assert!(proven, "{name}: {:?}", member.state);
    }
}

/// A member that only gives an answer has to be proven by its answer: that a scene fails without any says little.
#[test]
fn what_gives_an_answer_is_proven_by_it() {
    for name in claimed(|proof| proof.does) {
        let last = name.rsplit('.').next().unwrap_or(name);
        let asks = ["get", "is", "has", "find", "build"];
        assert!(!asks.iter().any(|word| last.starts_with(word)), "{name}");
    }
}

/// Runs a line as a user would type it in this repository.
fn typed(line: &str) -> Finished {
    let room = crate::room();
    let examples = crate::repository_file("examples");
    std::os::unix::fs::symlink(examples, room.work().join("examples")).expect("writable");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_becket"), room.home().join("becket")).expect("writable");
    let path = std::env::var("PATH").unwrap_or_default();
    let child = Command::new("sh")
        .args(["-c", line])
        .current_dir(room.work())
        .env_clear()
        .env("HOME", room.home())
        .env("PATH", format!("{}:{path}", room.home().display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    finish(child.expect("a shell runs"))
}

#[test]
fn what_the_guide_shows_can_be_tried_and_every_example_is_in_it() {
    let guide = std::fs::read_to_string(crate::repository_file("docs/guide/pi.md")).expect("the guide");
    let shown = guide.split("```").nth(1).expect("lines to try").lines();
    let lines: Vec<&str> = shown.filter(|line| line.starts_with("becket ")).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    for line in lines {
        typed(line).ended_with(0);
    }
    for Proof { example, .. } in PROOFS {
        assert!(guide.contains(&format!("examples/pi/{example}.ts)")), "{example}");
    }
}

#[test]
fn every_example_says_how_it_is_used_and_that_is_true() {
    let examples: BTreeSet<&str> = PROOFS.iter().map(|proof| proof.example).collect();
    for example in examples {
        let file = format!("examples/pi/{example}.ts");
        let text = std::fs::read_to_string(crate::repository_file(&file)).expect("an example");
        let head = text.lines().take_while(|line| line.starts_with("//"));
        let mut lines = head.filter_map(|line| line.strip_prefix("//     becket "));
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("{file} does not say how it is used"));
        assert!(line.contains(&file), "{file}: {line}");
        let run = typed(&format!("becket {line}")).ended_with(0);
        assert!(!run.stderr.contains("could not be loaded"), "{file}: {run:#?}");
    }
}
