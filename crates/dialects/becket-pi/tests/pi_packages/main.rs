//! Tests of the packages that extensions can import, in the engine: each script beside this file is an extension that
//! uses one of them, and returns the errors that it found.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_js::{
    Allowed, Extension, HostError, HostModule, Kit, Limits, Report, Reporter, ScriptHost, Surroundings,
    Transformer,
};
use becket_pi::{host_modules, prelude_modules};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Lets the test call the script, in a session.
const PRELUDE: &str = r#"
import "pi:host";
export default (module: any) => {
    __becket.services.get("bind")();
    __becket.services.set("run", module.default);
};
"#;

/// A host that knows one model and answers for it.
struct OneModel;

impl ScriptHost for OneModel {
    fn call(&self, _: &str, _: &str, arguments: &str) -> Result<String, HostError> {
        match arguments {
            r#"{"models":{"available":false}}"# => Ok(r#"[{"provider":"some","id":"one"}]"#.into()),
            r#"{"find_model":{"provider":"some","id":"one","available":false}}"# => {
                Ok(r#"{"provider":"some","id":"one"}"#.into())
            }
            other if other.starts_with(r#"{"find_model""#) => Ok("null".into()),
            r#""about""# => Ok(r#"{"path":"script.ts","cwd":"/","mode":"print","hasUI":false}"#.into()),
            other => Err(HostError::new(format!("asked for {other}"))),
        }
    }

    fn call_async(
        &self,
        _: &str,
        _: &str,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, HostError>> {
        let asked: Value = serde_json::from_str(&arguments).expect("JSON");
        let wanted = &asked["model_complete"];
        let answer = match wanted["model"]["id"].as_str() {
            Some("one") => {
                let text = format!("the answer to {}", wanted["options"]["maxTokens"]);
                let content = [json!({"type": "text", "text": text})];
                Ok(json!({"role": "assistant", "content": content, "stopReason": "stop"}).to_string())
            }
            other => Err(HostError::new(format!(
                "there is no model {}",
                other.unwrap_or_default()
            ))),
        };
        async move { answer }.boxed()
    }
}

impl Reporter for OneModel {
    fn report(&self, _: &str, report: Report) {
        assert!(!matches!(report, Report::Failed { .. }), "{report:?}");
    }
}

/// Runs a script as an extension, and fails with all errors that it found.
async fn script(name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let prelude = HostModule {
        names: &["test:prelude"],
        source: PRELUDE,
    };
    let modules = host_modules().iter().chain(prelude_modules());
    let modules = modules.map(|module| HostModule {
        names: module.names,
        source: module.source,
    });
    let kit = Arc::new(Kit {
        prelude: "test:prelude",
        modules: modules.chain([prelude]).collect(),
        transformer: Transformer::default(),
        host: Arc::new(OneModel),
        reporter: Arc::new(OneModel),
        limits: Limits::default(),
        outside: becket_js::Outside::default(),
        cancels: Box::new(|| 0),
        surroundings: Surroundings {
            directory: folder.path().to_owned(),
            environment: Arc::new(std::env::vars_os().collect()),
            home: folder.path().to_owned(),
            program: PathBuf::from("becket"),
        },
        allowed: Allowed::default(),
        watch: Arc::default(),
    });
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pi_packages");
    let file = scripts.join(format!("{name}.ts"));
    let extension = Extension::load(&kit, name, &file).await.expect("it loads");
    let answer = extension.invoke("run", "null", Duration::from_secs(120)).await;
    assert_eq!(answer.expect("it runs").as_deref(), Some("[]"));
}

#[tokio::test]
async fn names_that_are_not_served_yet_say_so_when_they_are_used() {
    script("names").await;
}

#[tokio::test]
async fn session_files_settings_skills_and_own_sessions_work() {
    script("agent").await;
}

#[tokio::test]
async fn typebox_makes_schemas_and_checks_values() {
    script("typebox").await;
}

#[tokio::test]
async fn pi_ai_checks_arguments_and_asks_models() {
    script("ai").await;
}

#[tokio::test]
async fn pis_tools_work_on_files_and_programs() {
    script("tools").await;
}

#[tokio::test]
async fn texts_of_sessions_and_parts_of_screens_work_without_a_screen() {
    script("texts").await;
}
