//! The examples that pi ships, unchanged: each loads, and those that do something without a terminal do it.
//!
//! They are fetched from the npm registry, once for each run of the tests, and are no part of this repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use testkit::{AnthropicStream, Finished, ModelServer, Response, Room, needs, skipped};

use crate::room;

/// The package whose examples are driven.
const PACKAGE: &str = "@mariozechner/pi-coding-agent@0.73.1";

/// What is known of an example.
#[derive(Clone, Copy)]
enum Known {
    /// The test that drives it and sees its effect.
    By(fn()),
    /// The example draws on a screen, and what it draws needs more than that.
    Screen,
    /// Why it cannot be driven by a test.
    Never(&'static str),
}

/// Every example of the package.
// tidy: a table
const EXAMPLES: &[(&str, Known)] = {
    use Known::{By, Never, Screen};
    &[
        (
            "auto-commit-on-exit",
            By(what_was_done_is_committed_when_the_session_ends),
        ),
        ("bash-spawn-hook", By(bash_and_files_work_through_pi_s_own_tools)),
        ("bookmark", By(messages_get_labels_and_sessions_names)),
        (
            "border-status-editor",
            By(crate::pi_screen::the_border_of_the_editor_tells_the_state),
        ),
        (
            "built-in-tool-renderer",
            By(bash_and_files_work_through_pi_s_own_tools),
        ),
        ("claude-rules", By(rules_of_a_project_reach_the_system_prompt)),
        ("commands", By(dialogs_that_nobody_answers_count_as_no)),
        (
            "confirm-destructive",
            By(crate::pi_switching::pi_s_confirm_destructive_asks_before_a_conversation_is_left),
        ),
        ("custom-compaction", By(another_model_writes_the_summary)),
        (
            "custom-footer",
            By(crate::pi_screen::headers_footers_and_widgets_stand_around_the_editor),
        ),
        (
            "custom-header",
            By(crate::pi_screen::headers_footers_and_widgets_stand_around_the_editor),
        ),
        (
            "custom-provider-anthropic",
            By(a_provider_with_the_service_s_own_package_answers),
        ),
        (
            "custom-provider-gitlab-duo",
            Never("it wants a login in a browser"),
        ),
        (
            "dirty-repo-guard",
            By(crate::pi_switching::pi_s_dirty_repo_guard_asks_while_something_is_not_committed),
        ),
        ("doom-overlay", Screen),
        ("dynamic-resources", By(resources_come_from_beside_an_extension)),
        ("dynamic-tools", By(tools_can_be_added_while_a_session_runs)),
        ("event-bus", By(extensions_hear_each_other)),
        ("file-trigger", By(a_file_outside_wakes_the_agent)),
        ("git-checkpoint", By(each_turn_makes_a_checkpoint)),
        (
            "github-issue-autocomplete",
            By(crate::pi_screen::issues_are_completed_where_there_are_some),
        ),
        (
            "handoff",
            By(crate::pi_switching::pi_s_handoff_begins_a_conversation_with_what_matters),
        ),
        ("hello", By(tools_answer)),
        (
            "hidden-thinking-label",
            By(crate::pi_screen::thoughts_are_shown_when_somebody_wants_to_see_them),
        ),
        ("inline-bash", By(inline_commands_are_expanded)),
        ("input-transform", By(input_is_transformed_or_handled)),
        (
            "interactive-shell",
            By(crate::pi_switching::pi_s_interactive_shell_gives_a_command_the_terminal),
        ),
        ("mac-system-theme", Never("it asks macOS for its colours")),
        ("message-renderer", By(a_note_is_kept_for_the_next_prompt)),
        ("minimal-mode", By(bash_and_files_work_through_pi_s_own_tools)),
        ("modal-editor", By(crate::pi_screen::the_modal_editor_has_modes)),
        ("model-status", By(a_change_of_the_model_is_told)),
        ("notify", By(the_person_is_called_when_the_agent_is_done)),
        (
            "overlay-qa-tests",
            By(crate::pi_screen::overlays_stand_where_they_want_and_in_front_of_each_other),
        ),
        (
            "overlay-test",
            By(crate::pi_screen::an_overlay_takes_words_and_goes),
        ),
        (
            "permission-gate",
            By(the_permission_gate_blocks_what_is_dangerous_and_nothing_else),
        ),
        ("pirate", By(a_command_changes_the_system_prompt_of_what_follows)),
        ("plan-mode", By(plan_mode_lets_the_model_look_and_not_touch)),
        ("preset", By(a_preset_chooses_tools_and_words)),
        (
            "prompt-customizer",
            By(the_prompt_customizer_knows_which_tools_there_are),
        ),
        ("protected-paths", By(protected_paths_stay_as_they_are)),
        ("provider-payload", By(requests_and_answers_are_logged)),
        ("qna", By(crate::pi_screen::questions_are_drawn_out_of_an_answer)),
        ("question", By(tools_that_ask_the_person_say_that_nobody_is_there)),
        (
            "questionnaire",
            By(tools_that_ask_the_person_say_that_nobody_is_there),
        ),
        ("rainbow-editor", By(crate::pi_screen::the_rainbow_editor_shines)),
        (
            "reload-runtime",
            By(crate::pi_switching::pi_s_reload_runtime_begins_anew),
        ),
        (
            "rpc-demo",
            By(the_permission_gate_blocks_what_is_dangerous_and_nothing_else),
        ),
        ("sandbox", By(commands_run_with_the_sandbox_switched_off)),
        ("send-user-message", By(extensions_speak_for_the_person)),
        ("session-name", By(messages_get_labels_and_sessions_names)),
        (
            "shutdown-command",
            By(the_program_ends_when_an_extension_wants_it),
        ),
        ("snake", By(crate::pi_screen::snake_is_played_paused_and_saved)),
        ("space-invaders", By(crate::pi_screen::space_invaders_are_shot_at)),
        ("ssh", By(commands_and_files_go_to_another_machine)),
        ("status-line", By(status_lines_are_told_on_standard_error)),
        ("structured-output", By(a_tool_can_end_the_run)),
        ("subagent", By(crate::pi_json::pi_s_subagent_runs_becket)),
        (
            "summarize",
            By(crate::pi_screen::a_summary_is_shown_in_a_view_of_its_own),
        ),
        (
            "system-prompt-header",
            By(status_lines_are_told_on_standard_error),
        ),
        ("tic-tac-toe", By(the_model_can_play_alone)),
        ("timed-confirm", By(dialogs_that_nobody_answers_count_as_no)),
        (
            "titlebar-spinner",
            By(crate::pi_screen::the_title_and_the_working_line_are_the_extensions_own),
        ),
        ("todo", By(the_todo_list_lives_in_the_results_of_its_tool)),
        (
            "tool-override",
            By(an_extension_takes_the_place_of_a_tool_and_stays_behind_the_gate),
        ),
        ("tools", By(a_choice_of_tools_is_restored)),
        ("trigger-compact", By(a_command_compacts_the_conversation)),
        ("truncated-tool", By(a_long_output_is_cut_and_kept)),
        (
            "widget-placement",
            By(crate::pi_screen::headers_footers_and_widgets_stand_around_the_editor),
        ),
        ("with-deps", By(a_package_of_the_extension_s_own_is_used)),
        ("working-indicator", By(status_lines_are_told_on_standard_error)),
        (
            "working-message-test",
            By(crate::pi_screen::the_title_and_the_working_line_are_the_extensions_own),
        ),
    ]
};

/// An example's file, if the registry can be reached.
pub fn example(name: &str) -> Option<String> {
    examples().map(|folder| file_of(folder, name))
}

/// The folder of the examples, if the registry can be reached.
pub(crate) fn examples() -> Option<&'static Path> {
    static FETCHED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if !needs("npm") || !needs("tar") {
        return None;
    }
    fetched(FETCHED.get_or_init(|| fetch(PACKAGE, "pi-examples")))
}

/// What was fetched; without it, why the test is skipped.
pub fn fetched(result: &'static Result<PathBuf, String>) -> Option<&'static Path> {
    match result {
        Ok(folder) => Some(folder),
        Err(why) => {
            skipped(&format!("the npm registry: {why}"));
            None
        }
    }
}

/// Fetches a package, once, and gives the folder of its examples.
pub fn fetch(package: &str, place: &str) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(place);
    let examples = folder.join("package/examples/extensions");
    if examples.join("hello.ts").exists() {
        return Ok(examples);
    }
    let unpacked = folder.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(&unpacked).map_err(|error| error.to_string())?;
    let script = format!(
        "npm pack --silent --fetch-timeout=60000 '{package}' >/dev/null && tar xzf ./*.tgz && rm ./*.tgz"
    );
    let fetched = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&unpacked)
        .output();
    let fetched = fetched.map_err(|error| error.to_string())?;
    if !fetched.status.success() {
        return Err(String::from_utf8_lossy(&fetched.stderr).into_owned());
    }
    // Another run of the tests may have been faster.
    let _ = std::fs::rename(&unpacked, &folder);
    let _ = std::fs::remove_dir_all(&unpacked);
    examples
        .join("hello.ts")
        .exists()
        .then_some(examples)
        .ok_or_else(|| "no examples in it".into())
}

/// The folder of an example with its packages beside it: a copy, if it names some. Nothing where npm cannot fetch them.
pub fn installed<'a>(folder: &'a Path, name: &str) -> Option<&'a Path> {
    if !folder.join(name).join("package.json").exists() {
        return Some(folder);
    }
    let copies = folder.with_extension("installed");
    let copy = copies.join(name);
    if !copy.join("node_modules").exists() {
        // Beside the place first, so that whoever finds it there finds it whole.
        let script = format!(
            "mkdir -p {0:?} && cp -r {1:?} {2:?} && cd {2:?} && npm install --silent --no-audit --no-fund --omit=dev \
             --ignore-scripts --no-package-lock --fetch-timeout=60000 >/dev/null 2>&1 && mv {2:?} {3:?}",
            copies,
            folder.join(name),
            copies.join(format!(
                "{name}.{}.{:?}",
                std::process::id(),
                std::thread::current().id()
            )),
            copy
        );
        let made = Command::new("sh").args(["-c", &script]).status();
        if !made.is_ok_and(|status| status.success()) && !copy.join("node_modules").exists() {
            skipped(&format!("the packages of {name} from the npm registry"));
            return None;
        }
    }
    Some(Box::leak(copies.into_boxed_path()))
}

/// The file that is given to `-e`.
pub fn file_of(examples: &Path, name: &str) -> String {
    let file = examples.join(format!("{name}.ts"));
    let folder = examples.join(name).join("index.ts");
    let file = if file.exists() { file } else { folder };
    file.display().to_string()
}

/// One example in one scripted session.
struct Session<'a> {
    room: &'a Room,
    examples: Vec<&'a str>,
    options: Vec<&'a str>,
    /// What the user types, line by line.
    lines: &'a [&'a str],
    /// What the model answers, request by request.
    turns: Value,
}

impl<'a> Session<'a> {
    fn of(room: &'a Room, example: &'a str, lines: &'a [&'a str], turns: Value) -> Self {
        Self {
            room,
            examples: vec![example],
            options: Vec::new(),
            lines,
            turns,
        }
    }

    fn with(mut self, options: &[&'a str]) -> Self {
        self.options.extend(options);
        self
    }

    /// Runs it to its end. Nobody is there to ask, so `--yes` answers.
    fn run(self) -> Option<Finished> {
        let folder = examples()?;
        let model = self.room.model(&self.turns);
        let mut words = vec![
            "chat".to_string(),
            "--json".into(),
            "--yes".into(),
            "--model".into(),
            model,
        ];
        for example in &self.examples {
            let file = if example.contains('/') {
                (*example).to_string()
            } else {
                file_of(installed(folder, example)?, example)
            };
            words.extend(["-e".into(), file]);
        }
        words.extend(self.options.iter().map(ToString::to_string));
        let input = format!("{}\n", self.lines.join("\n"));
        Some(self.room.run_with_input(words, input).ended_with(0))
    }
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

/// What the model got as the results of its calls.
fn results(run: &Finished) -> String {
    let ended = run.events_named("post_tool");
    let results = ended
        .iter()
        .map(|call| call["result"].as_str().unwrap_or_default());
    results.collect::<Vec<_>>().join("\n")
}

/// The bodies of all requests, as text.
fn requests(run: &Finished) -> Vec<String> {
    run.events_named("pre_request")
        .iter()
        .map(|request| request["body"].to_string())
        .collect()
}

/// A repository with one commit and one change.
pub(crate) fn dirty_repository(room: &Room) {
    let script = "git init -q . && git config user.email a@b.c && git config user.name n && echo one > file && \
                  git add -A && git commit -qm one && echo two > file";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(room.work())
        .status();
    assert!(made.expect("git runs").success());
}

pub(crate) fn git(room: &Room, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(room.work())
        .output()
        .expect("git runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The names of all examples in the package.
pub fn names_in(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name != "README.md")
        .map(|name| name.trim_end_matches(".ts").to_string())
        .collect()
}

#[test]
fn every_example_is_driven_or_has_a_reason() {
    let Some(folder) = examples() else { return };
    let known: BTreeSet<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_string()).collect();
    assert_eq!(known, names_in(folder));
    // That a test exists, the compiler knows; that it drives the example, the text behind the table says.
    let behind = include_str!("pi_examples.rs")
        .split_once("fn examples() ->")
        .expect("the table ends")
        .1;
    let others = [
        include_str!("pi_screen.rs"),
        include_str!("pi_json.rs"),
        include_str!("pi_switching.rs"),
    ];
    let tests = [behind, &others.concat()].concat();
    for (name, known) in EXAMPLES {
        match known {
            Known::By(_test) => {
                let quoted = format!("{name:?}");
                assert!(tests.contains(&quoted), "no test drives {name}");
            }
            Known::Screen => {
                let text = std::fs::read_to_string(file_of(folder, name)).expect("an example");
                let draws = DRAWING
                    .iter()
                    .any(|member| text.contains(&format!("ui.{member}(")));
                assert!(draws || text.contains("ui.custom<"), "{name} draws nothing");
            }
            Known::Never(why) => assert!(!why.is_empty(), "{name}"),
        }
    }
}

/// What draws on pi's screen.
const DRAWING: &[&str] = &[
    "custom",
    "setFooter",
    "setHeader",
    "setWidget",
    "setEditorComponent",
    "addAutocompleteProvider",
    "setTitle",
    "setWorkingMessage",
    "setWorkingIndicator",
];

#[test]
fn every_example_loads() {
    let Some(folder) = examples() else { return };
    let problems: Vec<String> = EXAMPLES
        .iter()
        .filter_map(|(name, _)| loading_problem(&file_of(installed(folder, name)?, name), name))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What is wrong when an example is loaded and one prompt is answered; nothing if nothing is.
pub fn loading_problem(file: &str, name: &str) -> Option<String> {
    let room = room();
    room.write(".pi/.keep", "");
    let model = room.model(&json!([text("the answer")]));
    let run = room.run(["--model", &model, "-e", file, "hello"]);
    // One watches a file that is not there, here and in pi; others want a login in a browser, or a sandbox that may not
    // be on this machine.
    let expected = match name {
        "file-trigger" => run.stderr.contains("agent-trigger.txt"),
        "custom-provider-gitlab-duo" | "custom-provider-anthropic" => {
            run.stderr.contains("not supported by becket yet: oauth")
        }
        "sandbox" => run.stderr.contains("Sandbox initialization failed"),
        _ => false,
    };
    let complains = ["cannot", "not supported", "Error", "failed"]
        .iter()
        .any(|word| run.stderr.contains(word));
    let wrong = run.code != 0 || !run.stdout.contains("the answer") || (complains && !expected);
    wrong.then(|| format!("{name}: {run:#?}"))
}

#[test]
fn an_example_whose_package_is_missing_names_the_import_and_without_it_the_rest_goes_on() {
    let Some(folder) = examples() else { return };
    for (name, package) in [("with-deps", "ms"), ("sandbox", "@anthropic-ai/sandbox-runtime")] {
        let room = room();
        let model = room.model(&json!([call("hello", json!({"name": "you"})), text("done")]));
        let (broken, hello) = (file_of(folder, name), file_of(folder, "hello"));
        let words = [
            "--json", "--yes", "--model", &model, "-e", &broken, "-e", &hello, "go",
        ];
        room.run(words).ended_with(4).complained(package).complained(name);
        let run = room
            .run([&words[..], &["--without", name]].concat())
            .ended_with(0);
        assert!(results(&run).contains("Hello, you!"), "{run:#?}");
    }
}

// ---------------------------------------------------------------- packages and resources

#[test]
fn a_package_of_the_extension_s_own_is_used() {
    let room = room();
    let turns = json!([
        call("parse_duration", json!({"duration": "2 days"})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "with-deps", &["go"], turns).run() else {
        return;
    };
    assert!(
        results(&run).contains("2 days = 172800000 milliseconds"),
        "{run:#?}"
    );
}

#[test]
fn commands_run_with_the_sandbox_switched_off() {
    let room = room();
    let turns = json!([
        call("shell", json!({"command": "echo from the shell"})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "sandbox", &["/sandbox", "go"], turns)
        .with(&["--no-sandbox"])
        .run()
    else {
        return;
    };
    assert!(
        run.stderr.contains("Sandbox disabled via --no-sandbox"),
        "{run:#?}"
    );
    assert!(run.stderr.contains("Sandbox is disabled"), "{run:#?}");
    assert!(results(&run).contains("from the shell"), "{run:#?}");
}

#[test]
fn a_provider_with_the_service_s_own_package_answers() {
    let Some(folder) = examples() else { return };
    let Some(folder) = installed(folder, "custom-provider-anthropic") else {
        return;
    };
    let first = AnthropicStream::new("claude-sonnet-4-5", 11)
        .text(&["Let me ", "look."])
        .tool_call("call-1", "shell", &["{\"command\":", " \"echo seen\"}"])
        .stop("tool_use", 7);
    let last = AnthropicStream::new("claude-sonnet-4-5", 20)
        .text(&["All is ", "well."])
        .stop("end_turn", 4);
    let server = ModelServer::start([Response::events(first), Response::events(last)]);
    let room = room().with("CUSTOM_ANTHROPIC_API_KEY", "key-of-the-test");
    // The example as it is, but for the address that it asks; its packages are found from where it lies.
    let original = folder.join("custom-provider-anthropic");
    let text = std::fs::read_to_string(original.join("index.ts")).expect("the example");
    let address = "baseUrl: \"https://api.anthropic.com\"";
    assert!(text.contains(address));
    let changed = text.replace(address, &format!("baseUrl: {:?}", server.url()));
    room.write("provider/index.ts", changed);
    std::os::unix::fs::symlink(
        original.join("node_modules"),
        room.work().join("provider/node_modules"),
    )
    .expect("the room is writable");
    let run = room.run([
        "--json",
        "--yes",
        "--model",
        "custom-anthropic/claude-sonnet-4-5",
        "-e",
        "provider/index.ts",
        "go",
    ]);
    let run = run.ended_with(0);
    assert!(results(&run).contains("seen"), "{run:#?}");
    let ended = run.events_named("agent_end");
    assert!(ended[0].to_string().contains("All is well."), "{run:#?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{run:#?}");
    assert_eq!(requests[0].header("x-api-key"), Some("key-of-the-test"));
    let second = requests[1].json();
    assert_eq!(second["model"], "claude-sonnet-4-5");
    assert!(second["messages"].to_string().contains("tool_result"), "{second}");
    assert!(!run.stderr.contains("key-of-the-test"), "{run:#?}");
}

#[test]
fn resources_come_from_beside_an_extension() {
    let room = room();
    let turns = json!([text("a"), text("b")]);
    let Some(run) = Session::of(
        &room,
        "dynamic-resources",
        &["/dynamic", "/skill:dynamic-resources now"],
        turns,
    )
    .run() else {
        return;
    };
    let prompts = run.events_named("user_prompt");
    assert_eq!(prompts.len(), 2, "{run:#?}");
    assert!(
        !prompts[0]["prompt"].as_str().unwrap().starts_with('/'),
        "{run:#?}"
    );
    let skill = prompts[1]["prompt"].as_str().unwrap();
    assert!(
        skill.starts_with("<skill name=\"dynamic-resources\"") && skill.ends_with("now"),
        "{skill}"
    );
    assert!(
        requests(&run)[0].contains("<name>dynamic-resources</name>"),
        "{run:#?}"
    );
    assert!(!run.stderr.contains("dynamic.json"), "{run:#?}");
}

// ---------------------------------------------------------------- guards

#[test]
fn the_permission_gate_blocks_what_is_dangerous_and_nothing_else() {
    let room = room();
    room.write("keep", "");
    let turns = json!([
        call("shell", json!({"command": "rm -rf keep"})),
        call("shell", json!({"command": "echo harm$((1))less"})),
        text("done")
    ]);
    for example in ["permission-gate", "rpc-demo"] {
        let Some(run) = Session::of(&room, example, &["go"], turns.clone()).run() else {
            return;
        };
        assert!(
            results(&run).contains("Dangerous command blocked (no UI"),
            "{example}: {run:#?}"
        );
        assert!(results(&run).contains("harm1less"), "{example}: {run:#?}");
        assert!(room.has("keep"));
    }
}

#[test]
fn protected_paths_stay_as_they_are() {
    let room = room();
    let turns = json!([
        call("write", json!({"path": ".env", "content": "KEY=1"})),
        call("write", json!({"path": "notes.txt", "content": "hello"})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "protected-paths", &["go"], turns).run() else {
        return;
    };
    assert!(results(&run).contains("is protected"), "{run:#?}");
    assert!(!room.has(".env"));
    assert_eq!(room.read("notes.txt"), "hello");
}

#[test]
fn plan_mode_lets_the_model_look_and_not_touch() {
    let room = room();
    let turns = json!([
        call("shell", json!({"command": "touch made"})),
        call("shell", json!({"command": "ls"})),
        text("Plan:\n1. Look around\n2. Write it down\n")
    ]);
    let Some(run) = Session::of(&room, "plan-mode", &["go"], turns)
        .with(&["--plan"])
        .run()
    else {
        return;
    };
    assert!(!room.has("made"), "{run:#?}");
    assert!(results(&run).to_lowercase().contains("plan mode"), "{run:#?}");
    let request = &requests(&run)[0];
    assert!(
        request.contains("PLAN MODE") || request.contains("plan mode"),
        "{request}"
    );
    assert!(
        !request.contains(r#""name":"write""#),
        "the tools that write are taken away: {request}"
    );
}

// ---------------------------------------------------------------- the user's words and the system prompt

#[test]
fn input_is_transformed_or_handled() {
    let room = room();
    let lines = ["?quick What is Rust?", "ping", "plain"];
    let Some(run) = Session::of(&room, "input-transform", &lines, json!([text("a"), text("b")])).run() else {
        return;
    };
    let requests = requests(&run);
    assert_eq!(requests.len(), 2, "ping never reaches the model: {run:#?}");
    assert!(
        requests[0].contains("Respond briefly in 1-2 sentences: What is Rust?"),
        "{}",
        requests[0]
    );
    assert!(run.stderr.contains("pong"), "{run:#?}");
}

#[test]
fn inline_commands_are_expanded() {
    let room = room();
    let lines = ["The sum is !{echo $((40+2))}."];
    let Some(run) = Session::of(&room, "inline-bash", &lines, json!([text("a")])).run() else {
        return;
    };
    assert!(requests(&run)[0].contains("The sum is 42."), "{run:#?}");
}

#[test]
fn a_command_changes_the_system_prompt_of_what_follows() {
    let room = room();
    let lines = ["before", "/pirate", "after", "/pirate", "again"];
    let turns = json!([text("a"), text("b"), text("c")]);
    let Some(run) = Session::of(&room, "pirate", &lines, turns).run() else {
        return;
    };
    let requests = requests(&run);
    let pirate: Vec<bool> = requests
        .iter()
        .map(|request| request.contains("PIRATE MODE"))
        .collect();
    assert_eq!(pirate, [false, true, false], "{run:#?}");
    assert!(run.stderr.contains("Arrr! Pirate mode enabled!"), "{run:#?}");
}

#[test]
fn rules_of_a_project_reach_the_system_prompt() {
    let room = room();
    room.write(".claude/rules/style/tabs.md", "Use tabs.");
    let Some(run) = Session::of(&room, "claude-rules", &["go"], json!([text("a")])).run() else {
        return;
    };
    assert!(
        requests(&run)[0].contains("- .claude/rules/style/tabs.md"),
        "{run:#?}"
    );
    assert!(run.stderr.contains("Found 1 rule(s)"), "{run:#?}");
}

#[test]
fn the_prompt_customizer_knows_which_tools_there_are() {
    let room = room();
    let Some(run) = Session::of(&room, "prompt-customizer", &["go"], json!([text("a")])).run() else {
        return;
    };
    let request = &requests(&run)[0];
    for words in [
        "## Tool Guidance",
        "Use the `read` tool",
        "with the `bash` tool",
        "Extension-Added Context",
    ] {
        assert!(request.contains(words), "{words}: {request}");
    }
}

// ---------------------------------------------------------------- tools

#[test]
fn tools_answer() {
    let room = room();
    let turns = json!([
        call("hello", json!({"name": "you"})),
        call("hello", json!({"name": 7})),
        call("hello", json!({})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "hello", &["go"], turns).run() else {
        return;
    };
    let results = results(&run);
    assert!(results.contains("Hello, you!"), "{run:#?}");
    assert!(
        results.contains("Hello, 7!"),
        "a number becomes a text, as the schema wants: {results}"
    );
    assert!(
        results.contains("Validation failed for tool \"hello\""),
        "{results}"
    );
}

#[test]
fn tools_can_be_added_while_a_session_runs() {
    let room = room();
    let lines = ["one", "/add-echo-tool shout", "two"];
    let turns = json!([
        call("echo_session", json!({"message": "hi"})),
        text("a"),
        call("shout", json!({"message": "ho"})),
        text("b")
    ]);
    let Some(run) = Session::of(&room, "dynamic-tools", &lines, turns).run() else {
        return;
    };
    assert!(
        results(&run).contains("[session] hi") && results(&run).contains("[shout] ho"),
        "{run:#?}"
    );
    assert!(
        requests(&run)[0].contains("Echo back user-provided text"),
        "its snippet is in the system prompt"
    );
}

#[test]
fn the_todo_list_lives_in_the_results_of_its_tool() {
    let room = room();
    let turns = json!([
        call("todo", json!({"action": "add", "text": "write tests"})),
        call("todo", json!({"action": "toggle", "id": 1})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "todo", &["go"], turns).run() else {
        return;
    };
    assert!(results(&run).contains("Added todo #1: write tests"), "{run:#?}");
    // The next session finds it again, since the results are kept with their details.
    let turns = json!([call("todo", json!({"action": "list"})), text("done")]);
    let again = Session::of(&room, "todo", &["go"], turns)
        .run()
        .expect("as before");
    assert!(results(&again).contains("[x] #1: write tests"), "{again:#?}");
}

#[test]
fn a_tool_can_end_the_run() {
    let room = room();
    let arguments = json!({"headline": "All good", "summary": "s", "actionItems": ["rest"]});
    let turns = json!([call("structured_output", arguments), text("never said")]);
    let Some(run) = Session::of(&room, "structured-output", &["go"], turns).run() else {
        return;
    };
    assert!(
        results(&run).contains("Saved structured output: All good"),
        "{run:#?}"
    );
    assert_eq!(requests(&run).len(), 1, "{run:#?}");
}

#[test]
fn an_extension_takes_the_place_of_a_tool_and_stays_behind_the_gate() {
    let room = room();
    room.write("a.txt", "first\nsecond\n");
    room.write(".env", "KEY=1");
    room.write("../home/.pi/agent/.keep", "");
    let turns = json!([
        call("read", json!({"path": "a.txt", "offset": 2, "limit": 1})),
        call("read", json!({"path": ".env"})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "tool-override", &["go"], turns.clone()).run() else {
        return;
    };
    assert!(
        results(&run).contains("second") && !results(&run).contains("first"),
        "{run:#?}"
    );
    assert!(
        results(&run).contains("Access denied") && !results(&run).contains("KEY=1"),
        "{run:#?}"
    );
    let log = room.read("../home/.pi/agent/read-access.log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(
        lines[0].contains("ALLOWED: ") && lines[0].ends_with("/a.txt"),
        "{log}"
    );
    assert!(
        lines[1].contains("BLOCKED: ") && lines[1].contains("/.env"),
        "{log}"
    );
    let denied = room.hooks("[[hook]]\nevent = \"pre_file_read\"\ncommand = \"echo no >&2; exit 2\"\n");
    let again = Session::of(&room, "tool-override", &["go"], turns)
        .with(&["--hooks", &denied])
        .run();
    assert!(!results(&again.expect("as before")).contains("second"));
}

#[test]
fn bash_and_files_work_through_pi_s_own_tools() {
    let room = room();
    room.write("../home/.profile", "export GREETING=hello\n");
    room.write("a.txt", "one\ntwo\n");
    let turns = json!([
        call("bash", json!({"command": "echo $GREETING-$PI_SPAWN_HOOK"})),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "bash-spawn-hook", &["go"], turns)
        .with(&["--tools", "pi"])
        .run()
    else {
        return;
    };
    assert!(results(&run).contains("hello-1"), "{run:#?}");
    for example in ["built-in-tool-renderer", "minimal-mode"] {
        let turns = json!([
            call("read", json!({"path": "a.txt"})),
            call(
                "edit",
                json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "three"}]})
            ),
            call("bash", json!({"command": "cat a.txt"})),
            call("write", json!({"path": "a.txt", "content": "one\ntwo\n"})),
            text("done")
        ]);
        let run = Session::of(&room, example, &["go"], turns)
            .with(&["--tools", "pi"])
            .run()
            .expect("as before");
        assert!(
            results(&run).contains("one\ntwo") && results(&run).contains("one\nthree"),
            "{example}: {run:#?}"
        );
        assert_eq!(room.read("a.txt"), "one\ntwo\n", "{example}");
    }
}

#[test]
fn commands_and_files_go_to_another_machine() {
    let room = room();
    // In place of a remote machine: a program of the same name that works in another folder.
    room.write("../remote/a.txt", "from afar\n");
    room.script("../bin/ssh", "#!/bin/sh\nshift\nexec sh -c \"$1\"\n");
    let path = format!(
        "{}:{}",
        room.work().join("../bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let room = room.with("PATH", &path);
    let remote = format!("someone@there:{}", room.work().join("../remote").display());
    let turns = json!([
        call("bash", json!({"command": "pwd; cat a.txt"})),
        call("read", json!({"path": "a.txt"})),
        text("done")
    ]);
    let session = Session::of(&room, "ssh", &["go"], turns).with(&["--tools", "pi", "--ssh", &remote]);
    let Some(run) = session.run() else { return };
    assert!(run.stderr.contains("SSH mode: someone@there"), "{run:#?}");
    assert_eq!(results(&run).matches("from afar").count(), 2, "{run:#?}");
}

#[test]
fn a_long_output_is_cut_and_kept() {
    let room = room();
    room.script("../bin/rg", "#!/bin/sh\nseq 1 5000 | sed 's/^/file:/'\n");
    let path = format!(
        "{}:{}",
        room.work().join("../bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let room = room.with("PATH", &path);
    let turns = json!([call("rg", json!({"pattern": "x"})), text("done")]);
    let Some(run) = Session::of(&room, "truncated-tool", &["go"], turns).run() else {
        return;
    };
    let ended = run.events_named("pre_tool_output");
    let output = ended[0].to_string();
    assert!(
        output.contains("file:2000") && !output.contains("file:2001"),
        "{output}"
    );
    assert!(
        output.contains("truncated") || output.contains("Truncated"),
        "{output}"
    );
}

#[test]
fn tools_that_ask_the_person_say_that_nobody_is_there() {
    let room = room();
    let question = json!({"question": "Which?", "options": [{"label": "a"}]});
    let Some(run) = Session::of(
        &room,
        "question",
        &["go"],
        json!([call("question", question), text("done")]),
    )
    .run() else {
        return;
    };
    assert!(results(&run).contains("UI not available"), "{run:#?}");
    let questions =
        json!({"questions": [{"id": "q", "prompt": "Which?", "options": [{"value": "a", "label": "a"}]}]});
    let turns = json!([call("questionnaire", questions), text("done")]);
    let run = Session::of(&room, "questionnaire", &["go"], turns)
        .run()
        .expect("as before");
    assert!(results(&run).contains("UI not available"), "{run:#?}");
}

// ---------------------------------------------------------------- sessions, messages, state

#[test]
fn what_was_done_is_committed_when_the_session_ends() {
    let room = room();
    dirty_repository(&room);
    let Some(run) = Session::of(
        &room,
        "auto-commit-on-exit",
        &["go"],
        json!([text("All is done")]),
    )
    .run() else {
        return;
    };
    assert_eq!(
        git(&room, &["log", "--format=%s", "-1"]).trim(),
        "[pi] All is done",
        "{run:#?}"
    );
}

#[test]
fn each_turn_makes_a_checkpoint() {
    let room = room();
    dirty_repository(&room);
    let turns = json!([call("shell", json!({"command": "true"})), text("done")]);
    let Some(run) = Session::of(&room, "git-checkpoint", &["go"], turns).run() else {
        return;
    };
    let loose = git(&room, &["fsck", "--lost-found", "--no-reflogs"]);
    assert!(loose.contains("dangling commit"), "{loose} {run:#?}");
}

#[test]
fn messages_get_labels_and_sessions_names() {
    let room = room();
    let lines = [
        "/bookmark early",
        "hello",
        "/bookmark here",
        "/unbookmark",
        "/unbookmark",
    ];
    let Some(run) = Session::of(&room, "bookmark", &lines, json!([text("a")])).run() else {
        return;
    };
    for words in [
        "No assistant message to bookmark",
        "Bookmarked as: here",
        "Removed bookmark: here",
        "No bookmarked entry found",
    ] {
        assert!(run.stderr.contains(words), "{words}: {run:#?}");
    }
    let lines = ["/session-name", "/session-name big plans", "/session-name"];
    let run = Session::of(&room, "session-name", &lines, json!([text("a")]))
        .run()
        .expect("as before");
    for words in [
        "No session name set",
        "Session named: big plans",
        "Session: big plans",
    ] {
        assert!(run.stderr.contains(words), "{words}: {run:#?}");
    }
}

#[test]
fn extensions_speak_for_the_person() {
    let room = room();
    let lines = [
        "/ask what is it?",
        "/askwith why",
        "/steer now",
        "/followup then",
        "/ask",
    ];
    let turns = json!([text("a"), text("b"), text("c"), text("d")]);
    let Some(run) = Session::of(&room, "send-user-message", &lines, turns).run() else {
        return;
    };
    let requests = requests(&run);
    assert_eq!(requests.len(), 4, "{run:#?}");
    for (request, words) in requests
        .iter()
        .zip(["what is it?", "User request: why", "now", "then"])
    {
        assert!(request.contains(words), "{words}: {request}");
    }
    assert!(run.stderr.contains("Usage: /ask"), "{run:#?}");
}

#[test]
fn a_note_is_kept_for_the_next_prompt() {
    let room = room();
    let lines = ["/status warn nearly full", "go"];
    let Some(run) = Session::of(&room, "message-renderer", &lines, json!([text("a")])).run() else {
        return;
    };
    assert!(requests(&run)[0].contains("nearly full"), "{run:#?}");
}

#[test]
fn extensions_hear_each_other() {
    let room = room();
    let lines = ["/emit good news"];
    let Some(run) = Session::of(&room, "event-bus", &lines, json!([text("a")])).run() else {
        return;
    };
    assert!(
        run.stderr
            .contains("Event from event-bus-example: Session started"),
        "{run:#?}"
    );
    assert!(
        run.stderr.contains("Event from /emit command: good news"),
        "{run:#?}"
    );
}

#[test]
fn a_preset_chooses_tools_and_words() {
    let room = room();
    room.write(
        ".pi/presets.json",
        r#"{"careful": {"tools": ["read", "ls"], "thinkingLevel": "low", "instructions": "Be careful."}}"#,
    );
    let session = Session::of(&room, "preset", &["go"], json!([text("a")])).with(&["--preset", "careful"]);
    let Some(run) = session.run() else { return };
    let request = &requests(&run)[0];
    assert!(
        request.contains("Be careful.") && !request.contains(r#""name":"write""#),
        "{request}"
    );
    assert!(run.stderr.contains("Preset \"careful\" activated"), "{run:#?}");
    // The next session remembers it.
    let again = Session::of(&room, "preset", &["go"], json!([text("a")]))
        .run()
        .expect("as before");
    assert!(requests(&again)[0].contains("Be careful."), "{again:#?}");
}

#[test]
fn the_program_ends_when_an_extension_wants_it() {
    let room = room();
    let lines = ["one", "/quit", "never asked"];
    let Some(run) = Session::of(&room, "shutdown-command", &lines, json!([text("a"), text("b")])).run()
    else {
        return;
    };
    assert_eq!(requests(&run).len(), 1, "{run:#?}");
    let lines = ["one", "never asked"];
    let turns = json!([call("finish_and_exit", json!({})), text("bye"), text("b")]);
    let run = Session::of(&room, "shutdown-command", &lines, turns)
        .run()
        .expect("as before");
    assert!(results(&run).contains("Shutdown requested"), "{run:#?}");
    assert_eq!(requests(&run).len(), 2, "{run:#?}");
}

#[test]
fn a_command_compacts_the_conversation() {
    let room = room();
    let lines = ["one", "two", "/trigger-compact keep the numbers", "three"];
    let turns = json!([text("a"), text("b"), text("THE SUMMARY"), text("c")]);
    let Some(run) = Session::of(&room, "trigger-compact", &lines, turns).run() else {
        return;
    };
    let compacted = run.events_named("post_compact");
    assert_eq!(compacted.len(), 1, "{run:#?}");
    let requests = requests(&run);
    assert!(requests[2].contains("keep the numbers"), "{}", requests[2]);
}

#[test]
fn a_compaction_that_an_extension_cannot_make_is_made_as_usual() {
    let room = room();
    let lines = ["one", "/compact"];
    let turns = json!([text("a"), text("THE SUMMARY")]);
    let Some(run) = Session::of(&room, "custom-compaction", &lines, turns).run() else {
        return;
    };
    assert!(
        run.stderr.contains("Custom compaction extension triggered"),
        "{run:#?}"
    );
    // The extension asks a model that becket knows, as pi does, and for which there is no key.
    let without_key = "Compaction auth failed: No API key found for \"google\"";
    assert!(run.stderr.contains(without_key), "{run:#?}");
    assert_eq!(run.events_named("post_compact").len(), 1, "{run:#?}");
}

/// An extension with a model that says the same to everybody.
pub(crate) fn with_a_model(room: &Room, provider: &str, id: &str, words: &str) -> String {
    let extension = format!(
        r#"
        import {{ createAssistantMessageEventStream }} from "@mariozechner/pi-ai";
        export default (pi: any) => {{
            const cost = {{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }};
            const model = {{ id: "{id}", name: "{id}", reasoning: false, input: ["text"], cost,
                             contextWindow: 100000, maxTokens: 1000 }};
            const streamSimple = (model: any) => {{
                const stream = createAssistantMessageEventStream();
                const message = {{
                    role: "assistant", content: [{{ type: "text", text: "{words}" }}], api: model.api,
                    provider: model.provider, model: model.id, stopReason: "stop", timestamp: Date.now(),
                    usage: {{ input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost }},
                }};
                stream.push({{ type: "done", reason: "stop", message }});
                stream.end();
                return stream;
            }};
            pi.registerProvider("{provider}", {{
                baseUrl: "http://127.0.0.1:1", apiKey: "k", api: "x", models: [model], streamSimple,
            }});
            pi.registerCommand("use-it", {{ handler: async (_: string, ctx: any) => {{
                await pi.setModel(ctx.modelRegistry.find("{provider}", "{id}"));
            }} }});
        }};
        "#
    );
    room.write("../a-model.ts", extension).display().to_string()
}

#[test]
fn another_model_writes_the_summary() {
    let room = room();
    let gemini = with_a_model(&room, "google", "gemini-2.5-flash", "SUMMARY OF GEMINI");
    let turns = json!([text("a"), {"expect": ["SUMMARY OF GEMINI"], "text": "b"}]);
    let lines = ["one", "/compact", "two"];
    let mut session = Session::of(&room, "custom-compaction", &lines, turns);
    session.examples.push(&gemini);
    let Some(run) = session.run() else { return };
    assert!(
        run.stderr.contains("Custom compaction: summarizing 2 messages"),
        "{run:#?}"
    );
    assert_eq!(run.events_named("post_compact").len(), 1, "{run:#?}");
}

#[test]
fn a_change_of_the_model_is_told() {
    let room = room();
    let other = with_a_model(&room, "some", "other", "hello from the other one");
    let mut session = Session::of(&room, "model-status", &["/use-it", "go"], json!([text("a")]));
    session.examples.push(&other);
    let Some(run) = session.run() else { return };
    for words in [
        "Model: some/other",
        "🤖 other",
        "[model_select] scripted/script → some/other (set)",
    ] {
        assert!(run.stderr.contains(words), "{words}: {run:#?}");
    }
}

#[test]
fn a_choice_of_tools_is_restored() {
    let room = room();
    // In place of the list that a user ticks: the entry that it writes.
    let ticks = room.write(
        "../ticks.ts",
        "export default (pi: any) => pi.registerCommand('tick', { handler: async () => {
            pi.appendEntry('tools-config', { enabledTools: ['read', 'not-there'] });
        } });",
    );
    let ticks = ticks.display().to_string();
    let mut session = Session::of(&room, "tools", &["one", "/tick"], json!([text("a")]));
    session.examples.push(&ticks);
    let Some(run) = session.run() else { return };
    assert!(requests(&run)[0].contains(r#""name":"write""#), "{run:#?}");
    let again = Session::of(&room, "tools", &["two"], json!([text("b")])).run();
    let again = again.expect("as before");
    let request = &requests(&again)[0];
    assert!(
        request.contains(r#""name":"read""#) && !request.contains(r#""name":"write""#),
        "{request}"
    );
}

#[test]
fn the_model_can_play_alone() {
    let room = room();
    let action = |action: &str| call("tic_tac_toe", json!({"action": action}));
    let turns = json!([
        action("move_right"),
        call("tic_tac_toe_see_board", json!({})),
        action("sideways"),
        text("done")
    ]);
    let Some(run) = Session::of(&room, "tic-tac-toe", &["go"], turns).run() else {
        return;
    };
    let results = results(&run);
    for words in [
        "Moved right. Cursor: (0, 1)",
        "Your cursor: (row=0, col=1)",
        "Validation failed for tool \"tic_tac_toe\"",
    ] {
        assert!(results.contains(words), "{words}: {results}");
    }
}

#[test]
fn the_person_is_called_when_the_agent_is_done() {
    let room = room();
    // One of the ways that the example knows: the program of another system, under a terminal of that system.
    room.script("../bin/powershell.exe", "#!/bin/sh\necho \"$3\" > called\n");
    let path = format!(
        "{}:{}",
        room.work().join("../bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let room = room.with("PATH", &path).with("WT_SESSION", "1");
    // The next prompt is answered when the program has been called.
    let turns = json!([
        text("a"),
        call("shell", json!({"command": WAIT_FOR_CALL})),
        text("b")
    ]);
    let Some(run) = Session::of(&room, "notify", &["one", "two"], turns).run() else {
        return;
    };
    assert!(room.read("called").contains("Ready for input"), "{run:#?}");
}

/// Waits for the program that calls the user; nothing in the example does.
const WAIT_FOR_CALL: &str = "for i in $(seq 200); do test -s called && exit; sleep 0.1; done";

// ---------------------------------------------------------------- requests, status, dialogs

#[test]
fn requests_and_answers_are_logged() {
    let room = room();
    room.write(".pi/.keep", "");
    let Some(run) = Session::of(&room, "provider-payload", &["go"], json!([text("a")])).run() else {
        return;
    };
    let log = room.read(".pi/provider-payload.log");
    assert!(
        log.contains("\"messages\"") && log.contains("[200]"),
        "{log} {run:#?}"
    );
}

#[test]
fn status_lines_are_told_on_standard_error() {
    let table = [
        ("status-line", "Turn 1 complete"),
        ("system-prompt-header", "System: "),
        ("working-indicator", "Indicator: custom spinner"),
        ("rpc-demo", "Turn 1 done"),
    ];
    for (example, words) in table {
        let room = room();
        let Some(run) = Session::of(&room, example, &["go"], json!([text("a")])).run() else {
            return;
        };
        assert!(run.stderr.contains(words), "{example}: {run:#?}");
    }
}

#[test]
fn dialogs_that_nobody_answers_count_as_no() {
    let table = [
        ("timed-confirm", "/timed", "Cancelled or timed out"),
        (
            "timed-confirm",
            "/timed-select",
            "Selection cancelled or timed out",
        ),
        ("timed-confirm", "/timed-signal", "Cancelled by user"),
        ("rpc-demo", "/rpc-input", "Input cancelled"),
        ("rpc-demo", "/rpc-editor", "Editor cancelled"),
        (
            "hidden-thinking-label",
            "/thinking-label hm",
            "Hidden thinking label set to: hm",
        ),
        ("working-indicator", "/working-indicator dot", "dot"),
        ("commands", "/commands prompt", "No prompt commands found"),
        ("qna", "/qna", "requires interactive mode"),
        ("handoff", "/handoff on", "requires interactive mode"),
        ("snake", "/snake", "requires interactive mode"),
        ("space-invaders", "/invaders", "requires interactive mode"),
        ("tic-tac-toe", "/tic-tac-toe", "requires interactive mode"),
        ("doom-overlay", "/doom-overlay", "requires interactive mode"),
        ("todo", "/todos", "requires interactive mode"),
    ];
    for (example, line, words) in table {
        let room = room();
        let Some(run) = Session::of(&room, example, &[line], json!([text("a")])).run() else {
            return;
        };
        assert!(run.stderr.contains(words), "{example}: {run:#?}");
        assert!(requests(&run).is_empty(), "{example}: {run:#?}");
    }
}

#[test]
fn quiet_examples_disturb_nothing() {
    for example in ["titlebar-spinner", "widget-placement", "working-message-test"] {
        let room = room();
        let Some(run) = Session::of(&room, example, &["go"], json!([text("the answer")])).run() else {
            return;
        };
        assert_eq!(requests(&run).len(), 1, "{example}: {run:#?}");
        assert_eq!(run.events_named("hook_failed").len(), 0, "{example}: {run:#?}");
    }
}

#[test]
fn a_context_that_the_command_line_chooses_is_no_session_that_is_left() {
    let room = room();
    dirty_repository(&room);
    let Some(folder) = examples() else { return };
    room.run(["-c", "elsewhere", "-e", &file_of(folder, "dirty-repo-guard")])
        .ended_with(0);
}

#[test]
fn a_file_outside_wakes_the_agent() {
    let room = room();
    let Some(folder) = examples() else { return };
    // The example names its file: it is written elsewhere for the test, as its author says one should.
    let source = std::fs::read_to_string(file_of(folder, "file-trigger")).expect("the example");
    let trigger = room.write("trigger.txt", "");
    let source = source.replace("/tmp/agent-trigger.txt", &trigger.display().to_string());
    let file = room.write("../file-trigger.ts", source).display().to_string();
    // A write may be seen twice, on both sides of the example's own.
    let model = room.model(&json!([text("woken up"), text("again"), text("again")]));
    let mut child = room
        .command(["chat", "--json", "--yes", "--model", &model, "-e", &file])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = child.stdin.take();
    let running = testkit::Running::of(child);
    running.wait_for_output("session_start");
    // A watch that is not yet there misses a write; one of the next is seen.
    for _ in 0..200 {
        std::fs::write(&trigger, "the build is red").expect("it can be written");
        std::thread::sleep(std::time::Duration::from_millis(100));
        if std::fs::read_to_string(&trigger).is_ok_and(|text| text.is_empty()) {
            break;
        }
    }
    running.wait_for_output("woken up");
    drop(input);
    let run = running.finish().ended_with(0);
    assert!(
        requests(&run)[0].contains("External trigger: the build is red"),
        "{run:#?}"
    );
}
