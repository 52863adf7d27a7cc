//! Commands with a name, as agent files declare them: asked about by name, and judged as the commands that they are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_agent::{Agent, AgentSettings, DirectCall, Rules, Session};
use becket_dialects::profile_named;
use becket_hooks::Engine;
use becket_providers::rehearsal::Rehearsal;
use becket_store::MemoryStore;
use becket_tools::{Script, ToolSettings, script_tools};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A user who says yes to what has one of these names, and remembers the questions.
#[derive(Default)]
struct Person {
    agrees_to: Vec<&'static str>,
    questions: Mutex<Vec<String>>,
}

impl Front for Person {
    fn show(&self, _: FrontUpdate<'_>) {}

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        let name = question.tool_name.clone();
        let agrees = self.agrees_to.contains(&name.as_str());
        self.questions.lock().expect("nobody panics").push(name);
        let answer = if agrees {
            UserAnswer::Yes
        } else {
            UserAnswer::No(None)
        };
        Box::pin(std::future::ready(answer))
    }
}

fn script() -> Script {
    let schema = json!({"file": {"description": "The file."}, "count": {"type": "integer"}});
    Script {
        name: "copies".into(),
        command: "for number in $(seq \"$count\"); do printf '%s %s' \"$GREETING\" \"$file\" > \"$file.$number\"; done; pwd"
            .into(),
        arguments: schema.as_object().expect("an object").clone(),
        required: Some(vec!["file".into()]),
        environment: BTreeMap::from([("GREETING".into(), "hello".into())]),
        ..Script::default()
    }
}

/// Calls the script in `folder` under a deny rule; returns the questions that were asked as well.
async fn call(
    folder: &Path,
    script: Script,
    deny: &[&str],
    agrees_to: &[&'static str],
    arguments: Value,
) -> (DirectCall, Vec<String>) {
    let person = Arc::new(Person {
        agrees_to: agrees_to.to_vec(),
        ..Person::default()
    });
    let deny: Vec<String> = deny.iter().map(ToString::to_string).collect();
    let mut settings = AgentSettings {
        cwd: folder.into(),
        contexts: folder.join("contexts"),
        vfs: folder.join("vfs"),
        ..AgentSettings::default()
    };
    settings.approval.rules = Rules::parse(&deny, &[], &[]).expect("rules");
    let profile = profile_named("docker-agent").expect("a profile");
    let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    let tools = ToolSettings {
        environment: BTreeMap::from([path]),
        ..ToolSettings::default()
    };
    let agent = Agent {
        engine: Arc::new(Engine::new(None)),
        provider: Arc::new(Rehearsal::default()),
        tools: script_tools(&profile, &tools, vec![script]).expect("a script"),
        store: Arc::new(MemoryStore::new()),
        front: person.clone(),
        mail: None,
        team: None,
        handle: None,
        guests: None,
        settings,
    };
    let mut session = Session::open(Arc::new(agent), "default")
        .await
        .expect("a session");
    let arguments = arguments.as_object().expect("an object");
    let call = session
        .call_tool("copies", arguments, CancellationToken::new())
        .await;
    let questions = person.questions.lock().expect("nobody panics").clone();
    (call, questions)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

#[tokio::test]
async fn a_script_gets_its_arguments_as_variables_and_one_question_is_asked() {
    let folder = folder();
    let arguments = json!({"file": "it's $(touch evil)", "count": 2});
    let (call, questions) = call(folder.path(), script(), &[], &["copies"], arguments).await;
    assert!(!call.is_error, "{call:?}");
    assert_eq!(questions, ["copies"]);
    for number in [1, 2] {
        let file = folder.path().join(format!("it's $(touch evil).{number}"));
        let text = std::fs::read_to_string(file).expect("the script ran");
        assert_eq!(text, "hello it's $(touch evil)");
    }
    assert!(!folder.path().join("evil").exists());
}

#[tokio::test]
async fn without_a_yes_it_does_not_run() {
    let folder = folder();
    let (call, questions) = call(
        folder.path(),
        script(),
        &[],
        &["shell"],
        json!({"file": "a", "count": 1}),
    )
    .await;
    assert!(call.is_error && !call.ran, "{call:?}");
    assert_eq!(questions, ["copies"]);
    assert!(!folder.path().join("a.1").exists());
}

#[tokio::test]
async fn what_is_denied_to_commands_is_denied_to_scripts() {
    for rule in ["shell", "shell:command=*secret*", "copies"] {
        let folder = folder();
        let arguments = json!({"file": "secret", "count": 1});
        let (call, _) = call(folder.path(), script(), &[rule], &["copies", "shell"], arguments).await;
        assert!(
            call.is_error && call.output.contains("denies it"),
            "{rule}: {call:?}"
        );
        assert!(!folder.path().join("secret.1").exists(), "{rule}");
    }
}

#[tokio::test]
async fn outside_of_the_working_directory_the_command_is_asked_about_as_well() {
    let (inside, outside) = (folder(), folder());
    let script = Script {
        directory: Some(outside.path().display().to_string()),
        ..script()
    };
    let arguments = json!({"file": "a", "count": 1});
    let (told, questions) = call(inside.path(), script, &[], &["copies", "shell"], arguments).await;
    assert!(!told.is_error, "{told:?}");
    assert_eq!(questions, ["copies", "shell"]);
    assert!(outside.path().join("a.1").exists());
}

#[tokio::test]
async fn arguments_that_it_does_not_have_are_refused_before_anybody_is_asked() {
    let folder = folder();
    let arguments = json!({"file": "a", "LD_PRELOAD": "x"});
    let (call, questions) = call(folder.path(), script(), &[], &["copies"], arguments).await;
    assert!(call.output.contains("no argument `LD_PRELOAD`"), "{call:?}");
    assert!(questions.is_empty());
}
