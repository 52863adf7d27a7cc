//! The tools behind the real gate: what was judged is what is done.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer, user_at};
use becket_agent::gate::{Applicant, ApprovalSettings, Gate, Judgement, Permit};
use becket_agent::tool::{Tool, ToolOutput, ToolRun};
use becket_agent::vfs::Vfs;
use becket_agent::{Hooks, Rules};
use becket_events::{
    ApprovalDecided, Event, Part, PermissionMode, PermissionRequest, PreFileRead, PreFileReadReply, PreShell,
    PreTool, Profile, Scope, Strictest, Verdict,
};
use becket_hooks::Engine;
use becket_tools::{ToolSettings, operation_tools};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

struct Nobody;

impl Front for Nobody {
    fn show(&self, _: FrontUpdate<'_>) {}

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async { UserAnswer::Nobody })
    }
}

/// A session with all tools, in a folder of its own, where every question is answered with yes.
struct Session {
    _folder: tempfile::TempDir,
    path: PathBuf,
    gate: Gate,
    hooks: Hooks,
    tools: Vec<Arc<dyn Tool>>,
}

fn session() -> Session {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let user = user_at(Arc::new(Nobody));
    let approval = ApprovalSettings {
        mode: PermissionMode::Yes.into(),
        ..ApprovalSettings::default()
    };
    let settings = ToolSettings {
        environment: [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into(),
        ..ToolSettings::default()
    };
    Session {
        gate: Gate::new(approval, &path, Vfs::new(&path.join("vfs")), Arc::clone(&user)),
        hooks: Hooks::new(
            Arc::new(Engine::new(None)),
            user,
            CancellationToken::new(),
            Scope::default(),
        ),
        tools: operation_tools(&Profile::own(), settings),
        _folder: folder,
        path,
    }
}

impl Session {
    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        let mut tools = self.tools.iter();
        tools
            .find(|tool| tool.spec().own_name == name)
            .expect("every operation has a tool")
    }

    async fn permit(&self, name: &str, arguments: Value) -> Permit {
        let tool = self.tool(name);
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let arguments = tool.normalise(arguments).expect("the arguments are right");
        let applicant = Applicant {
            tool_call_id: "call",
            tool: &&**tool,
            arguments: &arguments,
            parent_tool_call_id: None,
        };
        match self.gate.judge(&self.hooks, applicant).await {
            Judgement::Permitted(permit) => permit,
            Judgement::Refused { reason, .. } => panic!("{name} is refused: {reason}"),
        }
    }

    async fn refuses(&self, name: &str, arguments: Value) -> bool {
        let tool = self.tool(name);
        let arguments = tool
            .normalise(arguments.as_object().unwrap().clone())
            .expect("the arguments are right");
        let applicant = Applicant {
            tool_call_id: "call",
            tool: &&**tool,
            arguments: &arguments,
            parent_tool_call_id: None,
        };
        matches!(
            self.gate.judge(&self.hooks, applicant).await,
            Judgement::Refused { .. }
        )
    }

    async fn run(&self, name: &str, permit: Permit) -> ToolOutput {
        let run = ToolRun {
            progress: tokio::sync::mpsc::unbounded_channel().0,
            cancel: CancellationToken::new(),
            parent: None,
        };
        let work = self.tool(name).run(permit, run);
        tokio::time::timeout(Duration::from_secs(20), work)
            .await
            .expect("a tool ends")
    }

    async fn call(&self, name: &str, arguments: Value) -> String {
        let permit = self.permit(name, arguments).await;
        let output = self.run(name, permit).await;
        assert!(!output.is_error, "{name}: {output:?}");
        text(&output)
    }

    fn vfs(&self) -> Vfs {
        Vfs::new(&self.path.join("vfs"))
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap()
    }
}

fn text(output: &ToolOutput) -> String {
    match output.content.as_slice() {
        [Part::Text { text }] => text.clone(),
        other => panic!("one text expected: {other:?}"),
    }
}

#[tokio::test]
async fn every_file_tool_works_behind_the_gate() {
    let session = session();
    session
        .call("write", json!({"file_path": "src/a.txt", "text": "one\ntwo\n"}))
        .await;
    assert_eq!(
        session.call("read", json!({"path": "src/a.txt"})).await,
        "one\ntwo\n"
    );
    let edits = json!([{"oldText": "two", "newText": "2"}]);
    session
        .call("edit", json!({"path": "src/../src/a.txt", "edits": edits}))
        .await;
    assert_eq!(session.file("src/a.txt"), "one\n2\n");
    assert_eq!(session.call("list", json!({})).await, "src/");
    assert_eq!(session.call("find", json!({"glob": "*.txt"})).await, "src/a.txt");
    assert_eq!(
        session.call("grep", json!({"query": "^o", "path": "src"})).await,
        "src/a.txt:1: one"
    );
    assert_eq!(
        session
            .call("shell", json!({"cmd": "cat a.txt", "cwd": "src"}))
            .await,
        "one\n2\n"
    );
}

#[tokio::test]
async fn a_link_that_was_there_when_the_call_was_judged_is_followed() {
    let session = session();
    std::fs::write(session.path.join("real"), "old").unwrap();
    symlink("real", session.path.join("link")).unwrap();
    assert_eq!(session.call("read", json!({"path": "link"})).await, "old");
    session
        .call("write", json!({"path": "link", "content": "new"}))
        .await;
    assert_eq!(session.file("real"), "new");
    assert!(session.path.join("link").is_symlink(), "the link stays a link");
}

#[tokio::test]
async fn a_link_that_came_after_the_judgement_is_not_followed() {
    let session = session();
    let secret = session.path.join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("file"), "secret").unwrap();
    let calls = [
        ("read", json!({"path": "sub/file"})),
        ("write", json!({"path": "sub/file", "content": "x"})),
        (
            "edit",
            json!({"path": "sub/file", "edits": [{"old_text": "secret", "new_text": "x"}]}),
        ),
        ("list", json!({"path": "sub"})),
        ("find", json!({"pattern": "*", "path": "sub"})),
        ("grep", json!({"pattern": "secret", "path": "sub"})),
    ];
    for (name, arguments) in calls {
        let sub = session.path.join("sub");
        std::fs::create_dir(&sub).unwrap();
        std::fs::write(sub.join("file"), "harmless").unwrap();
        let permit = session.permit(name, arguments).await;
        swap_for_link(&sub, &secret);
        let output = session.run(name, permit).await;
        assert!(output.is_error, "{name}: {output:?}");
        assert!(text(&output).contains("a link replaced it"), "{name}: {output:?}");
        std::fs::remove_file(&sub).unwrap();
    }
    assert_eq!(session.file("secret/file"), "secret");
}

fn swap_for_link(folder: &Path, target: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
    symlink(target, folder).unwrap();
}

#[tokio::test]
async fn a_permit_for_one_tool_does_not_run_another() {
    let session = session();
    std::fs::write(session.path.join("file"), "kept").unwrap();
    let permit = session.permit("read", json!({"path": "file"})).await;
    let output = session.run("write", permit).await;
    assert!(output.is_error);
    assert_eq!(session.file("file"), "kept");
}

#[tokio::test]
async fn a_search_shows_nothing_of_files_that_may_not_be_read() {
    let mut session = session();
    std::fs::write(session.path.join("secrets.txt"), "PW=hunter2\n").unwrap();
    std::fs::write(session.path.join("open.txt"), "PW=none\n").unwrap();
    let engine = Engine::new(None);
    engine.on::<PreFileRead>("guard", |occasion| {
        let secret = occasion.payload.path.ends_with("secrets.txt");
        let verdict = secret.then(|| Verdict::Deny("secret".into()));
        Ok(PreFileReadReply {
            verdict: Strictest(verdict),
            ..Default::default()
        })
    });
    session.hooks = Hooks::new(
        Arc::new(engine),
        user_at(Arc::new(Nobody)),
        CancellationToken::new(),
        Scope::default(),
    );
    let by_hook = session.call("grep", json!({"pattern": "PW"})).await;
    session.hooks = Hooks::new(
        Arc::new(Engine::new(None)),
        user_at(Arc::new(Nobody)),
        CancellationToken::new(),
        Scope::default(),
    );
    let rules = Rules::parse(&["*:path=*secrets*".into()], &[], &[]).unwrap();
    let approval = ApprovalSettings {
        mode: PermissionMode::Yes.into(),
        rules,
        ..ApprovalSettings::default()
    };
    session.gate = Gate::new(approval, &session.path, session.vfs(), user_at(Arc::new(Nobody)));
    let by_rule = session.call("grep", json!({"pattern": "PW"})).await;
    for text in [by_hook, by_rule] {
        assert!(text.contains("PW=none") && !text.contains("hunter2"), "{text}");
        assert!(
            !text.contains("secrets.txt"),
            "nothing tells that it matches: {text}"
        );
    }
}

/// A guard that notices a cancel and says nothing about the call, as one does that was interrupted itself.
#[tokio::test]
async fn a_cancel_while_somebody_judges_refuses() {
    fn guarded<E: Event>(session: &mut Session) {
        let (engine, cancel) = (Engine::new(None), CancellationToken::new());
        let token = cancel.clone();
        engine.on::<E>("guard", move |_| {
            token.cancel();
            Ok(E::Reply::default())
        });
        session.hooks = Hooks::new(
            Arc::new(engine),
            user_at(Arc::new(Nobody)),
            cancel,
            Scope::default(),
        );
    }
    let guards: [fn(&mut Session); 4] = [
        guarded::<PreTool>,
        guarded::<PreShell>,
        guarded::<PermissionRequest>,
        guarded::<ApprovalDecided>,
    ];
    for (number, guard) in guards.into_iter().enumerate() {
        let mut session = session();
        guard(&mut session);
        assert!(
            session.refuses("shell", json!({"command": "true"})).await,
            "{number}"
        );
    }
}

#[tokio::test]
async fn an_edit_is_judged_as_reading_too() {
    let mut session = session();
    std::fs::write(session.path.join("x.env"), "A=1\nB=secret\n").unwrap();
    let edit = json!({"path": "x.env", "edits": [{"old_text": "A=", "new_text": "C="}]});
    let engine = Engine::new(None);
    engine.on::<PreFileRead>("guard", |_| {
        Ok(PreFileReadReply {
            verdict: Strictest(Some(Verdict::Deny("secret".into()))),
            ..Default::default()
        })
    });
    session.hooks = Hooks::new(
        Arc::new(engine),
        user_at(Arc::new(Nobody)),
        CancellationToken::new(),
        Scope::default(),
    );
    assert!(session.refuses("edit", edit.clone()).await);
    session.hooks = Hooks::new(
        Arc::new(Engine::new(None)),
        user_at(Arc::new(Nobody)),
        CancellationToken::new(),
        Scope::default(),
    );
    let rules = Rules::parse(&["read:path=*.env".into()], &[], &[]).unwrap();
    let approval = ApprovalSettings {
        mode: PermissionMode::Yes.into(),
        rules,
        ..ApprovalSettings::default()
    };
    session.gate = Gate::new(approval, &session.path, session.vfs(), user_at(Arc::new(Nobody)));
    assert!(session.refuses("edit", edit).await);
    assert!(
        !session
            .call("grep", json!({"pattern": "secret"}))
            .await
            .contains("B=")
    );
}

#[tokio::test]
async fn a_command_runs_in_the_directory_that_was_judged() {
    let session = session();
    std::fs::create_dir(session.path.join("sub")).unwrap();
    std::fs::create_dir(session.path.join("other")).unwrap();
    let permit = session
        .permit("shell", json!({"command": "touch P", "cwd": "sub"}))
        .await;
    std::fs::rename(session.path.join("sub"), session.path.join("old")).unwrap();
    symlink(session.path.join("other"), session.path.join("sub")).unwrap();
    let output = session.run("shell", permit).await;
    assert!(output.is_error, "{output:?}");
    assert!(!session.path.join("other/P").exists());
}
