//! Where a scene is played: a sealed room, an example, and a model with a script.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::{repository_file, room};

/// One thing that is wrong with pi's API.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// In which way; a word of `broken.ts`.
    pub how: &'static str,
    /// The event or member.
    pub name: &'static str,
}

impl Fault {
    /// Nothing is wrong.
    pub const NONE: Self = Self { how: "", name: "" };
}

/// A room with one example.
pub struct Stage {
    pub room: Room,
    /// The file that is given to `-e`.
    pub file: String,
}

impl Stage {
    /// A stage for an example, as it is or with a fault.
    pub fn of(example: &str, fault: Option<Fault>) -> Self {
        let room = room();
        let original = repository_file(&format!("examples/pi/{example}.ts"));
        let Some(Fault { how, name }) = fault else {
            return Self { room, file: original };
        };
        let original = std::fs::read_to_string(original).expect("an example");
        room.write("../broken/original.ts", original);
        room.write("../broken/broken.ts", include_str!("broken.ts"));
        let file = room.write(
            &format!("../broken/{example}.ts"),
            format!(
                "import original from \"./original.ts\";\nimport {{ broken }} from \"./broken.ts\";\n\
                 export default broken(original as any, \"{how}\", \"{name}\");\n"
            ),
        );
        let file = file.display().to_string();
        Self { room, file }
    }

    /// Plays a chat: what the user types line by line, and what the model answers request by request.
    pub fn chat(&self, options: &[&str], lines: &[&str], turns: Value) -> Finished {
        self.chat_that_ends_with(0, options, lines, turns)
    }

    /// Plays a chat like `chat`; a line that is not carried out makes it end with 2.
    pub fn chat_that_ends_with(&self, code: i32, options: &[&str], lines: &[&str], turns: Value) -> Finished {
        let model = self.room.model(&turns);
        let given = ["chat", "--json", "--yes", "--model", &model, "-e", &self.file];
        let words = given.iter().chain(options);
        let input = format!("{}\n", lines.join("\n"));
        let run = self.room.run_with_input(words, input).ended_with(code);
        // A chat goes on when a request fails. Here it has not been what the model should have seen.
        assert!(!run.stderr.contains("expects at turn"), "{run:#?}");
        run
    }
}

/// A turn in which the model calls a tool.
pub fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

/// A turn in which the model says something.
pub fn text(text: &str) -> Value {
    json!({"text": text})
}

/// What the model got as the results of its calls.
pub fn results(run: &Finished) -> String {
    let ended = run.events_named("post_tool");
    let results = ended
        .iter()
        .map(|call| call["result"].as_str().unwrap_or_default());
    results.collect::<Vec<_>>().join("\n")
}

/// The bodies of all requests as they were before hooks of becket's own saw them.
pub fn requests(run: &Finished) -> Vec<String> {
    run.events_named("pre_request")
        .iter()
        .map(|request| request["body"].to_string())
        .collect()
}
