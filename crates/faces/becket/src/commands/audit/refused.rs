//! `becket audit refused`: the calls that were refused, for people, for the summary of a pipeline, and for code hosts.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use becket_check::{SarifResult, sarif_log};
use becket_store::{AuditQuery, SqliteStore};
use becket_system::moments::moment_in_words;
use becket_system::{CliError, Exit, Surroundings, counted, harmless, harmless_name};
use serde_json::Value;

use crate::args::RefusedForm;
use crate::options::Options;
use crate::printing::print;
use crate::since::since;

/// The longest part of a call that is shown.
const LONGEST_CALL: usize = 120;

/// Which refusals are wanted, and how they are written.
pub(super) struct Wanted<'a> {
    pub(super) session: Option<String>,
    pub(super) since: &'a str,
    pub(super) form: RefusedForm,
}

/// A call that was refused.
struct Refusal {
    time_ms: u64,
    context: String,
    tool: String,
    /// The arguments; of a call with one, such as a command, only its value.
    call: String,
    reason: String,
    /// Who refused: a hook, a rule, or that nobody was there to ask.
    by: String,
    /// The file that the call would have touched.
    file: Option<PathBuf>,
}

impl Refusal {
    fn read(time_ms: u64, record: &Value) -> Self {
        let word = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let arguments = &record["effective"];
        let only = arguments.as_object().filter(|all| all.len() == 1);
        let only = only.and_then(|all| all.values().next()?.as_str());
        let call = only.map_or_else(|| arguments.to_string(), ToOwned::to_owned);
        let handlers = record["handlers"].as_array().into_iter().flatten();
        let handlers: Vec<&str> = handlers.filter_map(Value::as_str).collect();
        let target = record["target"].as_str().map(Path::new);
        Self {
            time_ms,
            context: word("context_name"),
            tool: word("tool_name"),
            call: call.chars().take(LONGEST_CALL).collect(),
            reason: word("reason"),
            by: match handlers.is_empty() {
                true => becket_record::decider(&word("source")),
                false => format!("hook {}", handlers.join(", ")),
            },
            file: target.filter(|target| target.is_absolute()).map(Into::into),
        }
    }

    fn line(&self) -> String {
        format!(
            "{}  {}  {} {}\n    {}  ({})\n",
            moment_in_words(self.time_ms),
            self.context,
            self.tool,
            self.call,
            self.reason,
            self.by
        )
    }

    /// A row of a table in Markdown. All texts of the session stand in code spans, so that none of them is markup.
    fn row(&self) -> String {
        let cells = [&self.tool, &self.call, &self.reason, &self.by];
        let cells: Vec<String> = cells.into_iter().map(|text| code(text)).collect();
        format!("| {} | {} |\n", moment_in_words(self.time_ms), cells.join(" | "))
    }

    fn result(&self, directory: &Path) -> SarifResult {
        SarifResult {
            rule: self.by.replace(' ', "-"),
            level: "error",
            message: harmless(&format!("refused: {} {}: {}", self.tool, self.call, self.reason)),
            file: self.file.clone().unwrap_or_else(|| directory.to_path_buf()),
            line: None,
        }
    }
}

/// Prints the calls that were refused, and how many there are.
pub(super) fn run(
    options: &Options,
    store: &SqliteStore,
    wanted: &Wanted<'_>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let query = AuditQuery {
        session_id: wanted.session.as_deref(),
        since_ms: since(wanted.since)?,
    };
    let (mut lines, mut refusals) = (String::new(), Vec::new());
    store.audit_log().each(query, |entry| {
        let record: Value = serde_json::from_str(&entry.record).unwrap_or_default();
        if entry.kind == "call" && record["decision"] != "allow" {
            lines.push_str(&entry.line());
            refusals.push(Refusal::read(entry.time_ms, &record));
        }
        ControlFlow::Continue(())
    })?;
    let count = counted(refusals.len() as u64, "call");
    let text = match wanted.form {
        RefusedForm::Text if options.run.json => lines,
        RefusedForm::Text => {
            let told: String = refusals.iter().map(Refusal::line).collect();
            harmless(&format!("{told}{count} refused since {}\n", wanted.since))
        }
        RefusedForm::Markdown => markdown(&refusals, &count),
        RefusedForm::Sarif => {
            let results = refusals.iter().map(|refusal| refusal.result(&surroundings.cwd));
            let results: Vec<SarifResult> = results.collect();
            format!(
                "{}\n",
                sarif_log("becket audit refused", &results, &surroundings.cwd)
            )
        }
    };
    print(&text)?;
    Ok(Exit::Answered)
}

fn markdown(refusals: &[Refusal], count: &str) -> String {
    let mut text = format!("### becket: {count} refused\n");
    if !refusals.is_empty() {
        text.push_str("\n| when | tool | call | reason | by |\n|---|---|---|---|---|\n");
        text.extend(refusals.iter().map(Refusal::row));
    }
    text
}

/// A text as a code span in a table, which nothing in it can end.
fn code(text: &str) -> String {
    let text = harmless_name(&text.replace('\n', " ")).replace('|', "\\|");
    if text.trim().is_empty() {
        return "–".into();
    }
    let longest = text
        .split(|letter: char| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn no_text_leaves_its_cell() {
        assert_eq!(code("ls -la"), "`ls -la`");
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(code("echo `id`"), "`` echo `id` ``");
        assert_eq!(code(" "), "–");
        assert!(!code("one\n| two").contains('\n'));
        assert!(!code("one\r\u{2028}two\u{1b}[2J").contains(['\r', '\u{2028}', '\u{1b}']));
    }
}
