//! The front end of a terminal or a pipe.

use std::sync::{Arc, Mutex, MutexGuard};

use becket_agent::front::{Company, Front, PersonsAnswer, Question, Sight};
use becket_events::{Delta, Message, MessageBody, Part};
use becket_hooks::ReportedFailure;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::markdown::MarkdownStream;
use super::output::Output;
use super::person;
use super::style::{Style, counted, harmless, harmless_indented, harmless_name};

/// How many lines of a tool's output are shown.
const OUTPUT_LINES: usize = 8;

/// Shows a run: answers on standard output, the rest on standard error.
pub struct TerminalFront {
    /// Whether the answer is rendered; otherwise it is passed on as the model wrote it.
    rendered: bool,
    /// Whether events go to standard output, so that the answer must not.
    silent_answers: bool,
    /// Whether somebody else shows what tools give back.
    silent_results: bool,
    /// Whether somebody can be asked.
    attended: bool,
    out: Style,
    err: Style,
    output: Arc<Output>,
    answer: Mutex<Answer>,
}

/// The answer that is being shown.
#[derive(Default)]
struct Answer {
    markdown: MarkdownStream,
    begun: bool,
    ends_with_newline: bool,
    /// What was shown of it, where hooks may still replace it.
    provisional: Option<String>,
}

impl TerminalFront {
    /// For these streams; `attended` says whether a person can be asked.
    pub fn new(out: Style, err: Style, rendered: bool, attended: bool, output: Arc<Output>) -> Self {
        Self {
            rendered,
            silent_answers: false,
            silent_results: false,
            attended,
            out,
            err,
            output,
            answer: Mutex::default(),
        }
    }

    /// The same without answers on standard output.
    pub fn without_answers(mut self) -> Self {
        self.silent_answers = true;
        self
    }

    /// The same without what tools give back: the caller prints it.
    pub fn without_results(mut self) -> Self {
        self.silent_results = true;
        self
    }

    fn begin(&self, settled: bool) {
        self.output.preview(String::new);
        *self.answer() = Answer {
            provisional: (!settled).then(String::new),
            ..Answer::default()
        };
    }

    fn delta(&self, delta: &Delta) {
        let Delta::Text { text } = delta else { return };
        let mut answer = self.answer();
        if let Some(shown) = &mut answer.provisional {
            // Whoever reads a pipe cannot see that the first words were taken back.
            if !self.rendered {
                return;
            }
            shown.push_str(text);
        }
        answer.begun = true;
        if self.rendered {
            let shown = answer.markdown.push(text, self.out);
            self.write_out(&shown);
            self.output.preview(|| answer.markdown.preview(self.out));
        } else {
            answer.ends_with_newline = text.ends_with('\n');
            self.write_out(text);
        }
    }

    /// A message is complete: what is left of the answer is shown.
    fn message(&self, message: &Message) {
        match message.body() {
            MessageBody::Assistant { content, .. } => {
                let Answer {
                    mut markdown,
                    begun,
                    ends_with_newline,
                    provisional,
                } = std::mem::take(&mut *self.answer());
                let replaced = begun && provisional.is_some_and(|shown| shown != message.text());
                if replaced {
                    self.write_out(&markdown.finish(self.out));
                    self.say("", &self.err.dim("(changed by hooks)"));
                    markdown = MarkdownStream::default();
                }
                let has_words = content.iter().any(|part| matches!(part, Part::Text { .. }));
                let whole = has_words && (replaced || !begun);
                self.output.preview(String::new);
                if self.rendered {
                    // Words that did not arrive piece by piece.
                    let pushed = whole.then(|| markdown.push(&message.text(), self.out));
                    self.write_out(&pushed.unwrap_or_default());
                    self.write_out(&markdown.finish(self.out));
                } else if begun && !ends_with_newline {
                    self.write_out("\n");
                } else if whole {
                    self.write_out(&format!("{}\n", message.text()));
                }
            }
            MessageBody::Note { display: true, .. } | MessageBody::Tool { .. } if self.is_drawn(message) => {}
            MessageBody::User { .. } => self.output.person_said(&message.text(), self.err),
            MessageBody::Note {
                display: true, kind, ..
            } => {
                self.say(
                    "",
                    &format!(
                        "{} {}",
                        self.err.dim(&format!("[{}]", harmless_name(kind))),
                        harmless(&message.text())
                    ),
                );
            }
            _ => {}
        }
    }

    /// Whether somebody else draws a message, and does.
    fn is_drawn(&self, message: &Message) -> bool {
        let Some(drawing) = self.output.drawing() else {
            return false;
        };
        if let MessageBody::Tool { .. } = message.body() {
            drawing.result(message);
            return true;
        }
        drawing.message(message)
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer
            .lock()
            .expect("no panic happens while the answer is held")
    }

    fn call_line(&self, tool_name: &str, arguments: &Map<String, Value>, summary: Option<&str>) -> String {
        let first = || {
            let first = arguments.values().next()?;
            Some(
                first
                    .as_str()
                    .map_or_else(|| first.to_string(), ToString::to_string),
            )
        };
        let summary = summary
            .map(ToString::to_string)
            .or_else(first)
            .unwrap_or_default();
        let summary = shorten(&harmless(&summary), 160);
        format!("{} {summary}", self.err.bold(&harmless_name(tool_name)))
    }

    fn tool_call(&self, who: &str, tool_name: &str, arguments: &Map<String, Value>, summary: Option<&str>) {
        let drawing = self.output.drawing();
        if !drawing.is_some_and(|drawing| drawing.call(tool_name, arguments)) {
            let line = self.call_line(tool_name, arguments, summary);
            self.say(who, &format!("{} {line}", self.err.cyan("→")));
        }
    }

    /// Whether somebody else draws what a tool gives.
    fn is_drawn_elsewhere(&self, tool_name: &str) -> bool {
        let drawing = self.output.drawing();
        drawing.is_some_and(|drawing| drawing.draws_result(tool_name))
    }

    fn refused(&self, who: &str, tool_name: &str, reason: &str, handlers: &[String]) {
        let by = match handlers {
            [] => String::new(),
            names => self
                .err
                .dim(&format!(" (hook {})", harmless_name(&names.join(", ")))),
        };
        let (tool_name, reason) = (harmless_name(tool_name), harmless_indented(reason, "    "));
        self.say(
            who,
            &format!("{} {tool_name}: {reason}{by}", self.err.red("✗ refused")),
        );
    }

    fn tool_result(&self, who: &str, output: &str, is_error: bool) {
        let output = harmless(output.trim_end());
        let total = output.lines().count();
        for line in output.lines().take(OUTPUT_LINES) {
            let line = format!("  {}", shorten(line, 200));
            self.say(
                who,
                &if is_error {
                    self.err.red(&line)
                } else {
                    self.err.dim(&line)
                },
            );
        }
        if total > OUTPUT_LINES {
            let more = counted((total - OUTPUT_LINES) as u64, "more line");
            self.say(who, &self.err.dim(&format!("  … {more}")));
        }
    }

    fn hook_failed(&self, who: &str, failure: &ReportedFailure) {
        self.remark(who, &self.err.red("!"), &failure.to_string());
        for line in failure.failure.stderr.trim_end().lines() {
            self.say(who, &self.err.dim(&format!("  {}", harmless(line))));
        }
    }

    fn write_out(&self, text: &str) {
        if !self.silent_answers && !text.is_empty() {
            self.output.write(text);
        }
    }

    /// A text behind a mark; its further lines are indented.
    fn remark(&self, who: &str, mark: &str, text: &str) {
        self.say(who, &format!("{mark} {}", harmless_indented(text, "  ")));
    }

    fn say(&self, who: &str, line: &str) {
        self.output.say(&format!("{who}{line}"));
    }
}

impl TerminalFront {
    /// Shows something; `who` stands before each line of what a sub-agent does.
    fn show_of(&self, who: &str, sight: &Sight<'_>) {
        match *sight {
            Sight::Answer { settled } => self.begin(settled),
            Sight::Delta(delta) => self.delta(delta),
            Sight::Message(message) => self.message(message),
            Sight::ToolCall {
                tool_name,
                arguments,
                summary,
            } => {
                self.tool_call(who, tool_name, arguments, summary);
            }
            Sight::Changed {
                tool_name,
                arguments,
                summary,
            } => {
                let line = self.call_line(tool_name, arguments, summary);
                self.say(
                    who,
                    &format!(
                        "{} {line} {}",
                        self.err.yellow("↳"),
                        self.err.dim("(changed by hooks)")
                    ),
                );
            }
            Sight::Refused {
                tool_name,
                reason,
                handlers,
            } => self.refused(who, tool_name, reason, handlers),
            Sight::ToolResult { .. } if self.silent_results => {}
            Sight::ToolResult { tool_name, .. } if self.is_drawn_elsewhere(tool_name) => {}
            Sight::ToolResult {
                tool_name,
                arguments,
                summary,
                company,
                output,
                is_error,
            } => {
                if company == Company::Others {
                    let line = self.call_line(tool_name, arguments, summary);
                    self.say(who, &format!("{} {line}", self.err.cyan("←")));
                }
                self.tool_result(who, output, is_error);
            }
            Sight::Notice(text) => self.remark(who, &self.err.green("•"), text),
            Sight::Warning(text) => self.remark(who, &self.err.yellow("!"), text),
            Sight::HookFailed(failure) => self.hook_failed(who, failure),
            Sight::Retry { reason, delay_ms, .. } => {
                let seconds = delay_ms as f64 / 1000.0;
                self.say(
                    who,
                    &format!(
                        "{} {}; trying again in {seconds:.1} s",
                        self.err.yellow("!"),
                        harmless_indented(reason, "  ")
                    ),
                );
            }
            // How it ended, is said where that matters.
            Sight::CompactionBegins { .. } | Sight::CompactionEnds { .. } => {}
            Sight::Within { agent, sight } => {
                let who = format!("{who}{} ", self.err.dim(&format!("[{}]", harmless_name(agent))));
                self.show_of(&who, sight);
            }
        }
    }
}

impl Front for TerminalFront {
    fn show(&self, sight: Sight<'_>) {
        self.show_of("", &sight);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, PersonsAnswer> {
        Box::pin(async move {
            match self.output.screen() {
                Some(screen) => person::ask_on(&screen, question, self.err).await,
                None if self.attended => person::ask(question, self.err).await,
                None => PersonsAnswer::Nobody,
            }
        })
    }
}

/// The first line of a text, not longer than that many characters.
fn shorten(text: &str, limit: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut short: String = first.chars().take(limit).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
