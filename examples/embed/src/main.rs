//! An agent of one's own: one prompt, with a guard written in Rust.

use becket_events::{PermissionMode, PreTool, PreToolReply, Reply};
use becket_run::{EmbeddedAgent, RunOptions};
use becket_system::{CliError, Surroundings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), CliError> {
    let folder = std::env::current_dir().unwrap_or_default();
    let surroundings = Surroundings::headless(std::env::vars_os(), folder);
    let options = RunOptions {
        model: Some("rehearsal".into()), // Needs no key. `None` is the model of the user's settings.
        permission_mode: PermissionMode::Yes.into(), // Nobody is there to be asked. Guards still judge.
        is_fresh: true,
        ..RunOptions::default()
    };
    let opened = EmbeddedAgent::open(options, &surroundings, |engine| {
        engine.on::<PreTool>("no rm", |occasion| {
            let command = occasion.payload.arguments.get("command");
            let removes = command.is_some_and(|command| command.to_string().contains("rm "));
            let refusal = removes.then(|| PreToolReply::refuse("rm is not allowed here".into()));
            Ok(refusal.unwrap_or_default())
        });
    });
    let mut agent = opened.await?;
    let prompt = std::env::args().nth(1).unwrap_or("Run: rm -rf build".into());
    println!("{}", agent.ask(prompt).await?.answer);
    agent.close().await
}
