//! An agent of one's own: one prompt, with a guard written in Rust.

use becket_events::{PermissionMode, PreTool, PreToolReply, Strictest, Verdict};
use becket_run::{EmbeddedAgent, RunOptions};
use becket_system::{CliError, Surroundings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), CliError> {
    let surroundings =
        Surroundings::headless(std::env::vars_os(), std::env::current_dir().unwrap_or_default());
    let options = RunOptions {
        // It needs no key. Without a model, the one of the user's settings is asked.
        model: Some("rehearsal".into()),
        is_fresh: true,
        // Nobody is there to be asked. Guards stand all the same.
        permission_mode: PermissionMode::Yes.into(),
        ..RunOptions::default()
    };
    let opened = EmbeddedAgent::open(options, &surroundings, |engine| {
        engine.on::<PreTool>("no rm", |occasion| {
            let command = occasion.payload.arguments.get("command");
            let removes = command.is_some_and(|command| command.to_string().contains("rm "));
            let refusal = removes.then(|| Verdict::Deny("rm is not allowed here".into()));
            let verdict = Strictest(refusal);
            Ok(PreToolReply {
                verdict,
                ..Default::default()
            })
        });
    });
    let mut agent = opened.await?;
    let prompt = std::env::args().nth(1).unwrap_or("Run: rm -rf build".into());
    println!("{}", agent.ask(prompt).await?.answer);
    agent.close().await
}
