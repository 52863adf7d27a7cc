//! Messages from other contexts on their way into a prompt.

use becket_agent::store::{Letter, Store};
use becket_events::{AgentStart, AgentStartReply};

use crate::stage::{Stage, Turn, input};

fn letter(content: &str) -> Letter {
    Letter {
        to: "default".into(),
        from: "alice".into(),
        content: content.into(),
        origin: None,
    }
}

#[tokio::test]
async fn letters_are_in_the_prompt_that_is_stored() {
    let stage = Stage::new(vec![Turn::Say("ok"), Turn::Say("ok")]);
    stage
        .store
        .deliver(vec![letter("one"), letter("two")])
        .await
        .unwrap();
    stage.answer("go").await;
    let shown = stage.seen_by_model(0).remove(0);
    assert!(
        shown.contains("From alice:\n> one\n\nFrom alice:\n> two\n"),
        "{shown}"
    );
    assert!(shown.ends_with("\n\ngo"), "{shown}");
    assert!(stage.store.inbox.lock().unwrap().is_empty());
    stage.answer("again").await;
    let seen = stage.seen_by_model(1);
    assert_eq!(seen.last().map(String::as_str), Some("again"));
}

#[tokio::test]
async fn letters_that_another_session_was_shown_are_not_shown_again() {
    let stage = Stage::new(vec![Turn::Say("never said")]);
    stage.store.deliver(vec![letter("one")]).await.unwrap();
    let store = stage.store.clone();
    // This happens between the look into the inbox and storing the prompt.
    stage.engine.on::<AgentStart>("thief", move |_| {
        store.inbox.lock().unwrap().clear();
        Ok(AgentStartReply::default())
    });
    let mut session = stage.open().await;
    let error = session
        .prompt(input("go"), stage.cancel.clone())
        .await
        .unwrap_err();
    assert!(error.message.contains("another session"), "{error}");
    assert!(stage.stored().is_empty());
}
