//! An agent of one's own: one prompt, with a guard written in Rust.

use becket_events::{PermissionMode, PreTool, PreToolReply, Strictest, Verdict};
use becket_run::{Caller, ContextChoice, Conversation, Participants, Purpose, RunOptions};
use becket_system::{CliError, Surroundings};
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), CliError> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let surroundings = Surroundings::headless(std::env::vars_os(), cwd);
    let options = RunOptions {
        // It needs no key. Without a model, the one of the user's settings is asked.
        model: Some("rehearsal".into()),
        is_fresh: true,
        // Nobody is there to be asked. Guards stand all the same.
        permission_mode: PermissionMode::Yes.into(),
        ..RunOptions::default()
    };
    let mut participants = Participants::nobody();
    participants.on_ready = Box::new(|assembled| {
        assembled.agent.engine.on::<PreTool>("no rm", |occasion| {
            let command = occasion.payload.arguments.get("command");
            let removes = command.is_some_and(|command| command.to_string().contains("rm "));
            let refusal = Verdict::Deny("rm is not allowed here".to_owned());
            Ok(PreToolReply {
                verdict: Strictest(removes.then_some(refusal)),
                ..PreToolReply::default()
            })
        });
    });
    let cancel = CancellationToken::new();
    let caller = Caller {
        options: &options,
        surroundings: &surroundings,
        cancel: &cancel,
    };
    let choice = ContextChoice::of(&options)?;
    let mut conversation = Conversation::open(participants, choice, Purpose::Prompts, caller).await?;
    let prompt = std::env::args().nth(1).unwrap_or("Run: rm -rf build".into());
    let end = conversation.ask(prompt, cancel.clone()).await?;
    println!("{}", end.answer);
    conversation.close(end.ending.reason()).await
}
