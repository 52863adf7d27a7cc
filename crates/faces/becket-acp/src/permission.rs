//! Questions to the user, which the editor asks.
//!
//! An editor can only be asked while it waits for the answer to a prompt: a question before that waits for one. A
//! prompt that is cancelled takes its questions with it, and so does an editor that answers `cancelled`.
//!
//! Some editors show the kinds of the options in place of their names, and take the last one of a kind. So the last one
//! that allows always covers the least, and no rule is stored before a question of its own has shown it.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallContent, ToolCallUpdate,
};
use becket_agent::front::{Again, OfferedRule, Question, UserAnswer};
use becket_front::{Style, Wording};
use becket_host::{Choice, STORE, about_rule, rule_of};
use becket_run::project_trust::{FIRST_ANSWER_TIMEOUT, Pending, QUESTION};
use becket_system::harmless_name;
use tokio_util::sync::CancellationToken;

use super::tool_calls::fenced;
use super::turns::Turns;
use super::updates::Updates;

/// How long the user may take to answer; after that the answer is no.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Asks the user of an editor.
pub struct Asker {
    updates: Arc<Updates>,
    turns: Arc<Turns>,
}

/// An answer to a question.
pub enum Answered {
    /// The option with this index was chosen.
    Chosen(usize),
    /// The prompt was cancelled.
    Cancelled,
    /// No answer came that could be understood.
    Nothing,
}

impl Asker {
    pub fn new(updates: Arc<Updates>, turns: Arc<Turns>) -> Self {
        Self { updates, turns }
    }

    /// What the editor is told.
    pub fn updates(&self) -> &Updates {
        &self.updates
    }

    /// Asks about a call.
    pub async fn ask(&self, question: &Question) -> UserAnswer {
        let wording = Wording::of(question, Style::plain());
        let title = wording.title.trim_start_matches("? ").to_owned();
        let mut facts = format!("{title}\n{}", wording.facts.join("\n"));
        if let Some(rule) = rule_of(question) {
            facts.push_str(&format!("\n\n{}", about_rule(rule)));
        }
        let cancel = self.turns.running().await;
        let call = self.updates.questioned(question, &title, &facts);
        // A user who wants to cancel cancels the prompt.
        let mut choices: Vec<Choice> = Choice::of(question)
            .into_iter()
            .map(|(choice, _)| choice)
            .filter(|choice| *choice != Choice::Cancel)
            .collect();
        choices.sort_by_key(|choice| (*choice == Choice::No, *choice == Choice::Again));
        let options = choices.iter().map(|choice| label(*choice, question)).collect();
        let id = call.tool_call_id.clone();
        let answered = self.choose(call, options, (&cancel, ANSWER_TIMEOUT)).await;
        let answer = match answered {
            Answered::Chosen(place) => match choices.get(place) {
                Some(Choice::Yes) => UserAnswer::Yes,
                Some(Choice::Again) => UserAnswer::YesAgain,
                Some(Choice::Rule) => self.store(rule_of(question)).await,
                _ => UserAnswer::No(None),
            },
            Answered::Cancelled => UserAnswer::Cancel,
            Answered::Nothing => UserAnswer::Nobody,
        };
        if question.tool_call_id.is_none() {
            self.updates.answered(id, answer.is_yes());
        }
        answer
    }

    /// Asks whether a rule is to be stored, in a question that shows it.
    async fn store(&self, rule: Option<&OfferedRule>) -> UserAnswer {
        let Some(rule) = rule else {
            return UserAnswer::No(None);
        };
        let always = always(rule);
        let title = format!("{STORE} {}", shown(rule));
        let content = vec![fenced(&format!("{}\n\n{}", rule.text, about_rule(rule)))];
        let options = vec![
            (always, PermissionOptionKind::AllowAlways),
            ("Allow only this call".into(), PermissionOptionKind::AllowOnce),
            ("Reject".into(), PermissionOptionKind::RejectOnce),
        ];
        match self.ask_own(&title, content, options, ANSWER_TIMEOUT).await {
            Answered::Chosen(0) => UserAnswer::YesWithRule(rule.text.clone()),
            Answered::Chosen(1) => UserAnswer::Yes,
            Answered::Chosen(_) => UserAnswer::No(None),
            Answered::Cancelled => UserAnswer::Cancel,
            Answered::Nothing => UserAnswer::Nobody,
        }
    }

    /// Asks whether the untrusted parts of a project are to be trusted; `None` if the prompt is cancelled meanwhile.
    pub async fn trusts(&self, pending: &Pending) -> Option<bool> {
        let content = vec![fenced(&pending.text()), fenced(&pending.contents())];
        let options = [
            ("Trust exactly this", PermissionOptionKind::AllowAlways),
            ("Work without it", PermissionOptionKind::RejectOnce),
        ];
        let options = options.map(|(name, kind)| (name.to_owned(), kind));
        let asked = self.ask_own(QUESTION, content, options.to_vec(), FIRST_ANSWER_TIMEOUT);
        match asked.await {
            Answered::Chosen(place) => Some(place == 0),
            Answered::Nothing => Some(false),
            Answered::Cancelled => None,
        }
    }

    /// Asks something that is about no call. The editor shows it as a call of becket's own.
    pub async fn ask_own(
        &self,
        title: &str,
        content: Vec<ToolCallContent>,
        options: Vec<(String, PermissionOptionKind)>,
        timeout: Duration,
    ) -> Answered {
        let cancel = self.turns.running().await;
        let call = self.updates.stand_in(title, content);
        let id = call.tool_call_id.clone();
        let refuses: Vec<bool> = options.iter().map(|(_, kind)| is_no(*kind)).collect();
        let answered = self.choose(call, options, (&cancel, timeout)).await;
        let is_yes = matches!(answered, Answered::Chosen(place) if refuses.get(place) == Some(&false));
        self.updates.answered(id, is_yes);
        answered
    }

    /// Asks, and waits for the answer.
    async fn choose(
        &self,
        call: ToolCallUpdate,
        options: Vec<(String, PermissionOptionKind)>,
        (cancel, timeout): (&CancellationToken, Duration),
    ) -> Answered {
        let count = options.len();
        let options = options
            .into_iter()
            .enumerate()
            .map(|(place, (name, kind))| PermissionOption::new(place.to_string(), name, kind));
        let request = RequestPermissionRequest::new(self.updates.id().clone(), call, options.collect());
        let asked = self
            .updates
            .editor()
            .request::<RequestPermissionResponse>("session/request_permission", &request);
        let answer = tokio::select! {
            // Biased: an answer that arrives together with a cancel must not count.
            biased;
            () = cancel.cancelled() => return Answered::Cancelled,
            answer = tokio::time::timeout(timeout, asked) => answer,
        };
        let why = match answer.map(|answer| answer.map(|response| response.outcome)) {
            Ok(Ok(RequestPermissionOutcome::Cancelled)) => return Answered::Cancelled,
            Ok(Ok(RequestPermissionOutcome::Selected(selected))) => match selected.option_id.0.parse() {
                Ok(place) if place < count => return Answered::Chosen(place),
                _ => format!("there is no option {}", harmless_name(&selected.option_id.0)),
            },
            Ok(Ok(_)) => "the answer cannot be understood".to_owned(),
            Ok(Err(why)) => format!("the editor did not ask: {why}"),
            Err(_) => format!("nobody answered within {} s", timeout.as_secs()),
        };
        self.updates.warn(&format!("{why}; so the answer is no"));
        Answered::Nothing
    }
}

fn is_no(kind: PermissionOptionKind) -> bool {
    matches!(
        kind,
        PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways
    )
}

/// The words and the kind of an answer.
fn label(choice: Choice, question: &Question) -> (String, PermissionOptionKind) {
    let offer = question.offer.as_ref();
    match choice {
        Choice::Yes => ("Allow once".into(), PermissionOptionKind::AllowOnce),
        Choice::Again => {
            let same = match offer.map(|offer| offer.again) {
                Some(Again::Path) => "Allow this file until the session ends",
                _ => "Allow exactly this call until the session ends",
            };
            (same.into(), PermissionOptionKind::AllowAlways)
        }
        Choice::Rule => {
            let words = rule_of(question).map_or_else(String::new, always);
            (words, PermissionOptionKind::AllowAlways)
        }
        Choice::No | Choice::Cancel => ("Reject".into(), PermissionOptionKind::RejectOnce),
    }
}

/// The answer that stores a rule.
fn always(rule: &OfferedRule) -> String {
    format!("Always allow {} in this project", shown(rule))
}

/// What a rule allows.
fn shown(rule: &OfferedRule) -> String {
    let (_, short) = rule.text.split_once('=').unwrap_or(("", &rule.text));
    format!("`{}`", harmless_name(short))
}
