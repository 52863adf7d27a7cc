//! The front end of a terminal or a pipe.

use std::sync::{Arc, Mutex, MutexGuard};

use becket_agent::front::{Concurrency, Front, FrontUpdate, Question, UserAnswer};
use becket_events::{Delta, Message, MessageBody, Part};
use becket_hooks::ReportedFailure;
use becket_host::Whose;
use becket_system::counted;
use becket_system::{harmless, harmless_indented, harmless_name};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::markdown::{MarkdownStream, broken};
use super::output::Output;
use super::person;
use super::progress::{bar, write_over};
use super::sgr::{Kind, result_line};
use super::style::Style;
use super::todos::Todos;
use super::waiting::{retry_words, silence_words};

/// How many lines of a tool's output are shown.
const OUTPUT_LINES: usize = 8;

/// How many lines of a diff are shown.
const DIFF_LINES: usize = 15;

/// Shows a run: answers on standard output, the rest on standard error.
pub struct TerminalFront {
    /// Whether the answer is rendered; otherwise it is written as it is.
    rendered: bool,
    /// Whether events go to standard output, so that the answer does not.
    silent_answers: bool,
    /// Whether the caller prints the results of tools.
    silent_results: bool,
    /// Whether a user can be asked.
    attended: bool,
    out: Style,
    err: Style,
    output: Arc<Output>,
    answer: Mutex<AnswerView>,
}

/// The answer that is being shown.
#[derive(Default)]
struct AnswerView {
    markdown: MarkdownStream,
    begun: bool,
    /// The part of the answer that was shown and that hooks may still replace.
    provisional: Option<String>,
    /// The current thought of the model.
    thought: Option<Thought>,
}

/// A thought that is not complete.
struct Thought {
    /// The last line of the thought, if thoughts are shown.
    line: Option<String>,
}

impl TerminalFront {
    /// A front for these streams; `attended` says whether a user can be asked.
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

    /// Writes no answers to standard output.
    pub fn without_answers(mut self) -> Self {
        self.silent_answers = true;
        self
    }

    /// Writes no results of tools: the caller prints them.
    pub fn without_results(mut self) -> Self {
        self.silent_results = true;
        self
    }

    fn begin(&self, settled: bool) {
        self.output.preview(String::new);
        *self.answer() = AnswerView {
            provisional: (!settled).then(String::new),
            ..AnswerView::default()
        };
    }

    fn delta(&self, delta: &Delta) {
        if let Delta::Text { text } | Delta::Thinking { text, .. } | Delta::Arguments { text, .. } = delta {
            self.output.activity().add_letters(text);
        }
        match delta {
            Delta::Text { text } => self.words(text),
            Delta::Thinking { text, .. } if self.rendered && !text.is_empty() => self.thoughts(text),
            _ => {}
        }
    }

    /// Shows thoughts on a screen: their text, or that the model thinks.
    fn thoughts(&self, text: &str) {
        let Some(detail) = self.output.detail() else {
            return;
        };
        let mut answer = self.answer();
        if answer.thought.is_none() {
            // What was said before stands before.
            self.write_out(&self.finished(&mut answer.markdown));
            self.output.preview(String::new);
            let line = detail.has_thoughts.then(String::new);
            if line.is_none() {
                self.say_thought(detail.thinking());
            }
            answer.thought = Some(Thought { line });
        }
        let Some(Thought { line: Some(line) }) = &mut answer.thought else {
            return;
        };
        line.push_str(text);
        if let Some(end) = line.rfind('\n').filter(|_| !self.transforms()) {
            let whole: String = line.drain(..=end).collect();
            self.say_thought(whole.trim_end());
        }
        self.output.preview(|| self.out.dim(&harmless(line)));
    }

    /// Shows the rest of an answer that broke off.
    fn broke_off(&self) {
        let mut answer = self.answer();
        self.end_thought(&mut answer);
        self.output.preview(String::new);
        self.write_out(&self.finished(&mut answer.markdown));
    }

    /// Says of an answer that broke off and is on the screen that the next one replaces it.
    fn replaced(&self) {
        let answer = std::mem::take(&mut *self.answer());
        if answer.begun {
            self.say(
                "",
                &self
                    .err
                    .dim("(the answer above broke off: the next one replaces it)"),
            );
        }
    }

    fn retry(&self, who: &str, reason: &str, delay_ms: u64) {
        self.broke_off();
        self.remark(who, &self.err.yellow("!"), &retry_words(reason, delay_ms));
    }

    /// Shows how far something is, in a line that goes away.
    fn progress(&self, what: &str, done: u64, total: u64) {
        let line = || match total {
            0 => String::new(),
            total => bar(done, total, what),
        };
        self.output.preview(line);
        if self.attended && self.output.screen().is_none() {
            write_over(&line());
        }
    }

    fn silent(&self, who: &str, words: &str) {
        self.remark(who, &self.err.yellow("!"), words);
    }

    fn end_thought(&self, answer: &mut AnswerView) {
        let Some(Thought { line: Some(line) }) = answer.thought.take() else {
            return;
        };
        self.output.preview(String::new);
        if !line.trim().is_empty() {
            self.say_thought(&self.transformed(line, Whose::Thoughts, true));
        }
    }

    /// Whether an extension changes how texts look.
    fn transforms(&self) -> bool {
        self.output.drawing().is_some_and(|drawing| drawing.transforms())
    }

    fn transformed(&self, text: String, whose: Whose, is_complete: bool) -> String {
        match self.output.drawing() {
            Some(drawing) => drawing.transformed(text, whose, is_complete),
            None => text,
        }
    }

    /// Shows the complete part of an answer, unless an extension changes how the whole looks.
    fn take(&self, text: &str, markdown: &mut MarkdownStream) {
        match self.transforms() {
            true => markdown.hold(text),
            false => self.write_out(&markdown.push(text, self.out, self.output.width())),
        }
    }

    /// The rest of an answer, as it looks at the end.
    fn finished(&self, markdown: &mut MarkdownStream) -> String {
        markdown.finish(self.out, self.output.width(), |text| {
            self.transformed(text, Whose::Model, true)
        })
    }

    fn say_thought(&self, text: &str) {
        let width = self.output.width();
        for line in harmless(text).lines().flat_map(|line| broken(line, width)) {
            self.say("", &self.out.dim(&self.out.italic(&line)));
        }
    }

    /// Shows words on a screen. Whoever reads a pipe gets the whole answer when it is complete: they could not see that
    /// words were taken back.
    fn words(&self, text: &str) {
        if !self.rendered {
            return;
        }
        let mut answer = self.answer();
        self.end_thought(&mut answer);
        if let Some(shown) = &mut answer.provisional {
            shown.push_str(text);
        }
        answer.begun = true;
        self.take(text, &mut answer.markdown);
        let look = |text| self.transformed(text, Whose::Model, false);
        self.output
            .preview(|| answer.markdown.preview(self.out, self.output.width(), look));
    }

    /// Shows the rest of the answer: its message is complete.
    fn message(&self, message: &Message) {
        self.keep_if_last(message);
        match message.body() {
            MessageBody::Assistant {
                content,
                model,
                usage,
                ..
            } => {
                self.output.activity().add_answer(model, *usage);
                let mut answer = std::mem::take(&mut *self.answer());
                self.end_thought(&mut answer);
                let AnswerView {
                    mut markdown,
                    begun,
                    provisional,
                    ..
                } = answer;
                let replaced = begun && provisional.is_some_and(|shown| shown != message.text());
                if replaced {
                    self.write_out(&self.finished(&mut markdown));
                    self.say("", &self.err.dim("(changed by hooks)"));
                    markdown = MarkdownStream::default();
                }
                let has_words = content.iter().any(|part| matches!(part, Part::Text { .. }));
                let whole = has_words && (replaced || !begun);
                self.output.preview(String::new);
                if self.rendered {
                    // Words that did not arrive piece by piece.
                    if whole {
                        self.take(&message.text(), &mut markdown);
                    }
                    self.write_out(&self.finished(&mut markdown));
                } else if whole && self.output.last_answer().is_none() {
                    let text = message.text();
                    let end = if text.ends_with('\n') { "" } else { "\n" };
                    self.write_out(&format!("{text}{end}"));
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

    /// Keeps the text of an answer, where only the last one is written: each block as lines of its own. A result of a
    /// tool behind it makes it none.
    fn keep_if_last(&self, message: &Message) {
        let Some(mut last) = self.output.last_answer() else {
            return;
        };
        match message.body() {
            MessageBody::Assistant { content, .. } => {
                let texts = content.iter().filter_map(|part| match part {
                    Part::Text { text } => Some(format!("{text}\n")),
                    _ => None,
                });
                *last = texts.collect();
            }
            MessageBody::Tool { .. } => last.clear(),
            _ => {}
        }
    }

    /// Draws a message by an extension. Returns whether it did.
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

    fn answer(&self) -> MutexGuard<'_, AnswerView> {
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

    /// Whether an extension draws the output of a tool.
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
        let output = output.trim_end();
        let total = output.lines().count();
        let is_whole = self.output.detail().is_some_and(|detail| detail.has_outputs);
        let kind = Kind::of(output, is_error);
        let most = match kind {
            _ if is_whole => total,
            Kind::Diff => DIFF_LINES,
            Kind::Usual | Kind::Failure => OUTPUT_LINES,
        };
        let lines = output.lines().take(most);
        let lines = lines.map(|line| format!("{who}  {}", result_line(line, kind, self.err)));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            self.output.say_as_is(&lines.join("\n"));
        }
        if total > most {
            let more = counted((total - most) as u64, "more line");
            self.say(who, &self.err.dim(&format!("  … {more}")));
            self.output.keep_cut(output);
        }
    }

    /// Shows what is to be done: on a screen the user's own agent's list above the editor, otherwise in lines.
    fn todos(&self, who: &str, todos: &Todos) {
        match who.is_empty() {
            true => self.output.show_todos(todos, self.err),
            false => todos.lines(self.err).iter().for_each(|line| self.say(who, line)),
        }
    }

    fn changed(&self, who: &str, tool_name: &str, arguments: &Map<String, Value>, summary: Option<&str>) {
        let line = self.call_line(tool_name, arguments, summary);
        let (mark, why) = (self.err.yellow("↳"), self.err.dim("(changed by hooks)"));
        self.say(who, &format!("{mark} {line} {why}"));
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

    /// Writes a text after a mark, with its further lines indented.
    fn remark(&self, who: &str, mark: &str, text: &str) {
        self.say(who, &format!("{mark} {}", harmless_indented(text, "  ")));
    }

    fn say(&self, who: &str, line: &str) {
        self.output.say(&format!("{who}{line}"));
    }
}

impl TerminalFront {
    /// Shows something; `who` is written before each line of a sub-agent.
    fn show_of(&self, who: &str, update: &FrontUpdate<'_>) {
        match *update {
            FrontUpdate::Answer { settled } => self.begin(settled),
            FrontUpdate::Delta(delta) => self.delta(delta),
            FrontUpdate::Message(message) => self.message(message),
            FrontUpdate::ToolCall {
                tool_name,
                arguments,
                summary,
                ..
            } => {
                self.tool_call(who, tool_name, arguments, summary);
            }
            FrontUpdate::Changed {
                tool_name,
                arguments,
                summary,
                ..
            } => self.changed(who, tool_name, arguments, summary),
            FrontUpdate::Refused {
                tool_name,
                reason,
                handlers,
                ..
            } => self.refused(who, tool_name, reason, handlers),
            FrontUpdate::ToolOutput { tool_call_id, text } => {
                self.output.activity().add_output(tool_call_id, text, self.err);
            }
            FrontUpdate::ToolEnded { tool_call_id } => {
                self.output.activity().end_output(tool_call_id, self.err);
            }
            FrontUpdate::ToolResult { .. } if self.silent_results => {}
            FrontUpdate::ToolResult { tool_name, .. } if self.is_drawn_elsewhere(tool_name) => {}
            FrontUpdate::ToolResult {
                tool_name,
                arguments,
                summary,
                concurrency,
                output,
                is_error,
                ..
            } => {
                let is_late = concurrency == Concurrency::WithOthers;
                let line = is_late.then(|| self.call_line(tool_name, arguments, summary));
                let todos = Todos::of(tool_name, arguments, output).filter(|_| !is_error);
                self.tell_result(who, line, todos, (output, is_error));
            }
            FrontUpdate::Notice(text) => self.remark(who, &self.err.green("•"), text),
            FrontUpdate::Warning(text) => self.remark(who, &self.err.yellow("!"), text),
            FrontUpdate::HookFailed(failure) => self.hook_failed(who, failure),
            FrontUpdate::Retry { reason, delay_ms, .. } => self.retry(who, reason, delay_ms),
            FrontUpdate::Replaced => self.replaced(),
            FrontUpdate::Silent {
                provider,
                seconds,
                limit,
            } => self.silent(who, &silence_words(provider, seconds, limit)),
            FrontUpdate::Progress { what, done, total } => self.progress(what, done, total),
            // How it ended, is said where that matters.
            FrontUpdate::Permitted { .. }
            | FrontUpdate::CompactionBegins { .. }
            | FrontUpdate::CompactionEnds { .. } => {}
            FrontUpdate::Within { agent, update } => {
                let who = format!("{who}{} ", self.err.dim(&format!("[{}]", harmless_name(agent))));
                self.show_of(&who, update);
            }
        }
    }
}

impl TerminalFront {
    /// Shows what a call has brought, after the line of a call that is only shown now.
    fn tell_result(
        &self,
        who: &str,
        line: Option<String>,
        todos: Option<Todos>,
        (output, is_error): (&str, bool),
    ) {
        if let Some(line) = line {
            self.say(who, &format!("{} {line}", self.err.cyan("←")));
        }
        match todos {
            Some(todos) => self.todos(who, &todos),
            None => self.tool_result(who, output, is_error),
        }
    }
}

impl Front for TerminalFront {
    fn show(&self, update: FrontUpdate<'_>) {
        self.show_of("", &update);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async move {
            match self.output.screen() {
                Some(screen) => {
                    let answer = person::ask_on(&screen, question, self.err);
                    self.output.activity().asking(answer).await
                }
                None if self.attended => {
                    let _pause = self.output.pause_line();
                    person::ask(question, self.err, self.output.columns()).await
                }
                None => UserAnswer::Nobody,
            }
        })
    }
}

/// The first line of a text, cut to a number of characters.
fn shorten(text: &str, limit: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut short: String = first.chars().take(limit).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
