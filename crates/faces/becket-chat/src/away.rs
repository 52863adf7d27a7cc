//! `/new`, `/resume`, `/fork`, `/clone`, `/tree` and `/reload`: the chat continues in another place. What a line does
//! not say is asked on a screen; without a screen the line has to say it.

use std::collections::HashMap;
use std::time::Duration;

use becket_agent::session_handle::{Destination, Moved};
use becket_agent::store::{EntryContent, Tree};
use becket_agent::{GoTo, Position};
use becket_face_kit::Conversation;
use becket_front::Output;
use becket_record::conversation::{drawn_lines, in_one_line, is_persons, meant};
use becket_run::switching::End;
use becket_screen::{Entry, Question, Screen};
use becket_store::ContextSummary;
use becket_system::counted;
use becket_system::moments::ago;
use becket_system::{CliError, Surroundings, harmless_name};

/// How long the user may take to choose a place.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How many conversations are listed.
const MOST_LISTED: usize = 200;

/// How many characters of what was said first stand for a conversation.
const LONGEST_TITLE: usize = 50;

/// The command of a line that leaves the conversation, with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away<'a> {
    New,
    Resume(&'a str),
    Fork(&'a str),
    Clone,
    Tree(&'a str),
    Reload,
}

/// A place to go to, as a list shows it.
struct ListedPlace {
    /// What the user types to name the place.
    name: String,
    about: String,
    /// Whether the name is shown beside the description.
    naming: Naming,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Beside,
    Within,
}

impl ListedPlace {
    /// The text that is shown beside the description.
    fn beside(&self) -> &str {
        match self.naming {
            Naming::Beside => &self.name,
            Naming::Within => "",
        }
    }
}

impl Away<'_> {
    /// The place to go to; `None` if the user has cancelled, or was shown what can be chosen.
    pub async fn destination(
        self,
        conversation: &Conversation,
        screen: Option<&Screen>,
    ) -> Result<Option<Destination>, CliError> {
        match self {
            Self::New => Ok(Some(Destination::New {
                parent_file: None,
                setup: None,
            })),
            Self::Reload => Ok(Some(Destination::Reloaded)),
            Self::Resume("") => {
                let places = earlier(conversation)?;
                let shown = (&*conversation.output(), screen);
                let chosen = choose("Which conversation?", "/resume NAME", places, shown).await?;
                Ok(chosen.map(Destination::Earlier))
            }
            Self::Resume(which) => Ok(Some(Destination::Earlier(which.to_owned()))),
            Self::Clone => {
                let tree = conversation.tree().await?;
                let leaf = tree
                    .leaf_id()
                    .ok_or_else(|| CliError::usage("there are no messages yet"))?;
                Ok(Some(Destination::Fork {
                    entry_id: leaf.to_owned(),
                    position: Position::At,
                }))
            }
            Self::Fork(which) => fork(which, conversation, screen).await,
            Self::Tree(which) => entry(which, conversation, screen).await,
        }
    }
}

/// Tells the user how the switch ended. Returns the message at the chosen entry, to be edited and sent again; the error
/// says why the conversation is still the same.
pub fn told(
    away: Away<'_>,
    end: End,
    conversation: &Conversation,
    surroundings: &Surroundings,
) -> Result<Option<String>, String> {
    let text = match end? {
        Moved::Went { text } => text,
        Moved::Refused(reason) => return Err(format!("the conversation continues as before: {reason}")),
    };
    let name = conversation.context_name();
    surroundings.remark(&match away {
        Away::Reload => "reloaded extensions, skills, prompt templates and themes".to_owned(),
        Away::Tree(_) => "the conversation continues from there".to_owned(),
        Away::New => format!("started the new conversation {name}"),
        Away::Resume(_) | Away::Fork(_) | Away::Clone => {
            let messages = counted(conversation.message_count() as u64, "message");
            format!("now in the conversation {name}, with {messages}")
        }
    });
    Ok(text)
}

/// The other conversations, most recently used first.
fn earlier(conversation: &Conversation) -> Result<Vec<ListedPlace>, CliError> {
    let store = &conversation.assembled().store;
    let sessions = store.sessions(None)?;
    let mut names: HashMap<&str, &str> = HashMap::new();
    for session in &sessions {
        if let Some(name) = &session.name {
            names.entry(&session.context).or_insert(name);
        }
    }
    let contexts = store.contexts()?;
    let here = conversation.context_name().as_str();
    let others = contexts
        .iter()
        .filter(|context| context.name != here && context.message_count > 0);
    let others: Vec<&ContextSummary> = others.take(MOST_LISTED).collect();
    let shown: Vec<String> = others.iter().map(|context| context.name.clone()).collect();
    let first = store.first_words(&shown)?;
    let places = others.into_iter().map(|context| {
        let messages = counted(context.message_count, "message");
        let about = format!("{messages}, {}", ago(context.last_used_ms));
        let title = names.get(context.name.as_str()).copied();
        let title = title.or_else(|| first.get(&context.name).map(String::as_str));
        ListedPlace {
            name: context.name.clone(),
            about: match title.map(title_of).filter(|title| !title.is_empty()) {
                Some(title) => format!("{title}, {about}"),
                None => about,
            },
            naming: Naming::Beside,
        }
    });
    Ok(places.collect())
}

/// The beginning of the first line of a text that stands for a conversation.
fn title_of(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let line = harmless_name(line.trim());
    match line.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A fork before a message of the user, which can then be edited.
async fn fork(
    which: &str,
    conversation: &Conversation,
    screen: Option<&Screen>,
) -> Result<Option<Destination>, CliError> {
    let tree = conversation.tree().await?;
    let path = tree.path();
    let entry_id = match which {
        "" => {
            let said = path.iter().rev().filter(|entry| is_persons(entry));
            let places = said.map(|entry| ListedPlace {
                name: entry.id.clone(),
                about: in_one_line(&entry.content),
                naming: Naming::Beside,
            });
            choose(
                "Which message do you want to rephrase?",
                "/fork ENTRY",
                places.collect(),
                (&conversation.output(), screen),
            )
            .await?
        }
        which => Some(meant(&tree, conversation.context_name(), which)?),
    };
    let position = |id: &str| match tree.entry(id) {
        Some(entry) if is_persons(entry) => Position::Before,
        _ => Position::At,
    };
    Ok(entry_id.map(|entry_id| Destination::Fork {
        position: position(&entry_id),
        entry_id,
    }))
}

/// Another entry: `ENTRY`, or `ENTRY summarize WHAT MATTERS`.
async fn entry(
    which: &str,
    conversation: &Conversation,
    screen: Option<&Screen>,
) -> Result<Option<Destination>, CliError> {
    let tree = conversation.tree().await?;
    let (id, how) = match which.split_once(char::is_whitespace).unwrap_or((which, "")) {
        ("", _) => {
            let places = drawn_lines(&tree).into_iter().map(|(name, about)| ListedPlace {
                name,
                about,
                naming: Naming::Within,
            });
            let title = tree_title(&tree);
            let shown = (&*conversation.output(), screen);
            let Some(id) = choose(&title, "/tree ENTRY [summarize WHAT]", places.collect(), shown).await?
            else {
                return Ok(None);
            };
            let Some(how) = summary_or_none(&tree, &id, screen).await else {
                return Ok(None);
            };
            (id, how)
        }
        (id, rest) => (meant(&tree, conversation.context_name(), id)?, how(rest.trim())?),
    };
    Ok(Some(Destination::Entry { entry_id: id, how }))
}

/// The question where to continue, with the name of the conversation or what was said first in it.
fn tree_title(tree: &Tree) -> String {
    let said = tree.entries().iter().find_map(|entry| match &entry.content {
        EntryContent::Message { message } if is_persons(entry) => Some(message.text()),
        _ => None,
    });
    let title = tree.name().map(ToOwned::to_owned).or(said);
    match title
        .map(|title| title_of(&title))
        .filter(|title| !title.is_empty())
    {
        Some(title) => format!("Continue from where? ({title})"),
        None => "Continue from where?".into(),
    }
}

/// Reads the words after an entry, which may ask for a summary.
fn how(words: &str) -> Result<GoTo, CliError> {
    let Some(instructions) = words.strip_prefix("summarize") else {
        return match words {
            "" => Ok(GoTo::default()),
            _ => Err(CliError::usage(format!("/tree does not know {words:?}"))
                .hint("/tree ENTRY summarize WHAT MATTERS sums up the branch that you leave")),
        };
    };
    let instructions = instructions.trim();
    Ok(GoTo {
        summarize: true,
        instructions: (!instructions.is_empty()).then(|| instructions.to_owned()),
        ..GoTo::default()
    })
}

/// Asks whether the branch that is left is summarised; `None` if the user cancels.
async fn summary_or_none(tree: &Tree, id: &str, screen: Option<&Screen>) -> Option<GoTo> {
    let (Some(screen), (_, left)) = (screen, tree.left_for(id)) else {
        return Some(GoTo::default());
    };
    if left.is_empty() {
        return Some(GoTo::default());
    }
    let question = Question::new("Summarize the branch that you leave?").timeout(ANSWER_TIMEOUT);
    let answers = ["No", "Yes", "Yes, and focus on…"].map(|label| Entry {
        label: label.into(),
        ..Entry::default()
    });
    let summarize = match screen.select(question, answers.to_vec()).await.ok()? {
        0 => return Some(GoTo::default()),
        1 => None,
        _ => {
            let question = Question::new("What should the summary focus on?").timeout(ANSWER_TIMEOUT);
            Some(screen.input(question, "").await.ok()?)
        }
    };
    Some(GoTo {
        summarize: true,
        instructions: summarize.filter(|words| !words.trim().is_empty()),
        ..GoTo::default()
    })
}

/// Lets the user choose a place. Without a screen the places are listed with what can be typed.
async fn choose(
    title: &str,
    usage: &str,
    places: Vec<ListedPlace>,
    (output, screen): (&Output, Option<&Screen>),
) -> Result<Option<String>, CliError> {
    if places.is_empty() {
        return Err(CliError::usage("there is nothing to choose from"));
    }
    let Some(screen) = screen else {
        let lines: String = places
            .iter()
            .map(|place| match place.beside() {
                "" => format!("{}\n", place.about),
                name => format!("{name}  {}\n", place.about),
            })
            .collect();
        output.write(&lines);
        return Err(CliError::usage(format!("say which: {usage}")));
    };
    let options = places.iter().map(|place| Entry {
        label: place.about.clone(),
        description: place.beside().to_owned(),
        letter: None,
    });
    let question = Question::new(title).timeout(ANSWER_TIMEOUT);
    let chosen = screen.select(question, options.collect()).await;
    Ok(chosen.ok().map(|number| places[number].name.clone()))
}
