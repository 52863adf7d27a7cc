//! The index as tools: `index_update`, `index_query`, `index_status`, `index_map`.
//!
//! These tools change nothing of the user's, so they need no yes; hooks and deny rules judge the calls. What a file
//! holds is judged once more: deny rules and the guards of reading are asked before a changed file is read, and again
//! before something of a file is shown, as a search asks them.
//!
//! That holds for an update also where the project's root lies above the working directory: what the files of a project
//! declare belongs together. The guards are asked twice because the index may be older than a rule.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{FileIndexed, FileIndexedPayload, Profile};
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::database::{IndexFile, IndexProblem};
use crate::map::MapOptions;
use crate::query::{IndexReader, SymbolQuery, USUAL_LIMIT};
use crate::survey::Limits;
use crate::symbol::Extract;
use crate::update::{Indexed, Pending, Summary, Update, UpdateOptions};

/// How many files plugins read at the same time.
const PLUGINS_AT_ONCE: usize = 4;

/// A plugin that fails this often in a row is not asked about further files.
const MOST_FAILURES_OF_PLUGIN: usize = 3;

/// The pause between two reports of progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);

/// How many of the files that were left out are named.
const NAMED: usize = 20;

/// The most results and tokens that a call can ask for.
const MOST_RESULTS: u64 = 1000;
const MOST_TOKENS: u64 = 100_000;

/// How many results are examined to find some that may be shown.
const MOST_LOOKED_AT: usize = 10_000;

/// Reads files of a language for which there is no grammar, or in place of it.
pub trait LanguagePlugin: Send + Sync {
    /// The language that the plugin reads.
    fn language(&self) -> &str;

    /// The plugin's name. Files that another reader has read are read again.
    fn name(&self) -> &str;

    /// Reads one file, for a call in this context. Ends by itself within a deadline.
    fn read<'a>(
        &'a self,
        path: &'a str,
        content: &'a str,
        context_name: &'a str,
    ) -> BoxFuture<'a, Result<Extract, String>>;
}

/// The settings of the index tools.
#[derive(Clone)]
pub struct IndexSettings {
    /// The index of the project.
    pub index: IndexFile,
    /// The limits beyond which files are left out.
    pub limits: Limits,
    /// Plugins for languages; of two for one language the first is used.
    pub plugins: Vec<Arc<dyn LanguagePlugin>>,
}

/// The declaration of an index tool.
struct Own {
    name: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    job: Job,
}

struct Argument {
    name: &'static str,
    kind: &'static str,
    description: &'static str,
    /// The largest value, for a number.
    most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    Update,
    Query,
    Status,
    Map,
}

const fn argument(name: &'static str, kind: &'static str, description: &'static str) -> Argument {
    Argument {
        name,
        kind,
        description,
        most: MOST_RESULTS,
    }
}

// tidy: a table
const OWN: &[Own] = &[
    Own {
        name: "index_update",
        description: "Bring the code index of the project up to date. Only files that have changed are read.",
        arguments: &[argument("force", "boolean", "Whether all files are read again.")],
        job: Job::Update,
    },
    Own {
        name: "index_query",
        description: "Find where symbols are defined (name, kind, file), or where a name is used (refs_to).",
        arguments: &[
            argument("name", "string", "A part of the symbol's name, in any case."),
            argument(
                "kind",
                "string",
                "The kind, such as function, method, struct, class, constant.",
            ),
            argument("file", "string", "A part of the file's path."),
            argument(
                "language",
                "string",
                "The language of the file, such as rust or python.",
            ),
            argument("refs_to", "string", "Find the places that use this name instead."),
            argument(
                "limit",
                "integer",
                "How many results to return at most; 50 when absent.",
            ),
        ],
        job: Job::Query,
    },
    Own {
        name: "index_status",
        description: "Tell how many files, symbols and references the code index has, and in which languages.",
        arguments: &[],
        job: Job::Status,
    },
    Own {
        name: "index_map",
        description: "Show a map of the project: its most important definitions, by how much the rest uses them.",
        arguments: &[
            Argument {
                most: MOST_TOKENS,
                ..argument(
                    "tokens",
                    "integer",
                    "About how long the map may be; 2000 tokens when absent.",
                )
            },
            argument(
                "focus",
                "string",
                "A part of the paths of files from whose view the project is seen.",
            ),
        ],
        job: Job::Map,
    },
];

/// The names of all index tools.
pub fn index_tool_names() -> impl Iterator<Item = &'static str> {
    OWN.iter().map(|own| own.name)
}

/// The tools of the index that a profile has.
pub fn index_tools(profile: &Profile, settings: IndexSettings) -> Vec<Arc<dyn Tool>> {
    let settings = Arc::new(settings);
    let wanted = OWN.iter().filter(|own| profile.extras.contains(&own.name));
    wanted
        .map(|own| Arc::new(IndexTool::new(own, Arc::clone(&settings))) as Arc<dyn Tool>)
        .collect()
}

struct IndexTool {
    spec: ToolSpec,
    own: &'static Own,
    settings: Arc<IndexSettings>,
}

impl IndexTool {
    fn new(own: &'static Own, settings: Arc<IndexSettings>) -> Self {
        let properties: Map<String, Value> = own
            .arguments
            .iter()
            .map(|argument| {
                let property = json!({"type": argument.kind, "description": argument.description});
                (argument.name.to_owned(), property)
            })
            .collect();
        let spec = ToolSpec {
            face: ToolFace {
                name: own.name.into(),
                description: own.description.into(),
                parameters: json!({"type": "object", "properties": properties}).into(),
                operation: None,
            },
            own_name: own.name.into(),
            operation: None,
            source: BUILTIN.into(),
            read_only: true,
            parallel: own.job != Job::Update,
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Self { spec, own, settings }
    }

    async fn perform(&self, permit: &Permit, run: &ToolRun) -> Result<ToolOutput, String> {
        let arguments = settled(self.own, permit.arguments().clone())?;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| {
            let number = arguments.get(name).and_then(Value::as_u64)?;
            usize::try_from(number).ok()
        };
        let done = match self.own.job {
            Job::Update => {
                let force = arguments.get("force").and_then(Value::as_bool) == Some(true);
                self.update(permit, run, force)
                    .await
                    .map(|summary| told(&summary))
            }
            Job::Query => match text("refs_to") {
                Some(name) => self.references(permit, &name, number("limit")).await,
                None => {
                    let query = SymbolQuery {
                        name: text("name"),
                        kind: text("kind"),
                        file: text("file"),
                        language: text("language"),
                        limit: number("limit"),
                    };
                    self.symbols(permit, query).await
                }
            },
            Job::Status => self.settings.index.reader().and_then(|reader| {
                let status = reader.status()?;
                Ok(ToolOutput {
                    details: Some(json!(status)),
                    ..ToolOutput::text(status.to_string())
                })
            }),
            Job::Map => {
                let options = MapOptions {
                    tokens: number("tokens"),
                    focus: text("focus"),
                };
                self.map(permit, options).await
            }
        };
        done.map_err(|problem| problem.to_string())
    }

    async fn symbols(&self, permit: &Permit, query: SymbolQuery) -> Result<ToolOutput, IndexProblem> {
        let limit = query.limit.unwrap_or(USUAL_LIMIT);
        let find = move |reader: &IndexReader, limit| {
            reader.symbols(&SymbolQuery {
                limit: Some(limit),
                ..query.clone()
            })
        };
        let shown = self.shown(permit, limit, find, |symbol| &symbol.file).await?;
        Ok(list(
            &shown,
            "no symbol matches; index_update brings the index up to date",
        ))
    }

    async fn references(
        &self,
        permit: &Permit,
        name: &str,
        limit: Option<usize>,
    ) -> Result<ToolOutput, IndexProblem> {
        let wanted = name.to_owned();
        let find = move |reader: &IndexReader, limit| reader.references(&wanted, Some(limit));
        let limit = limit.unwrap_or(USUAL_LIMIT);
        let shown = self.shown(permit, limit, find, |found| &found.file).await?;
        Ok(list(&shown, &format!("nothing uses a name like {name}")))
    }

    /// The results that may be shown. If some may not, later ones take their place.
    async fn shown<T: Send + 'static>(
        &self,
        permit: &Permit,
        limit: usize,
        find: impl Fn(&IndexReader, usize) -> Result<Vec<T>, IndexProblem> + Send + Sync + 'static,
        file: fn(&T) -> &str,
    ) -> Result<Vec<T>, IndexProblem> {
        let find = Arc::new(find);
        let mut judge = Judge::new(self, permit);
        let mut enough = limit;
        loop {
            let (index, find) = (self.settings.index.clone(), Arc::clone(&find));
            let found = in_background(move || find(&index.reader()?, enough)).await?;
            let is_all = found.len() < enough;
            let mut shown = Vec::new();
            for one in found {
                if shown.len() < limit && judge.may_show(file(&one)).await {
                    shown.push(one);
                }
            }
            if is_all || shown.len() == limit || enough > MOST_LOOKED_AT {
                return Ok(shown);
            }
            enough *= 8;
        }
    }

    async fn map(&self, permit: &Permit, options: MapOptions) -> Result<ToolOutput, IndexProblem> {
        let (index, wanted) = (self.settings.index.clone(), options.clone());
        let ranked = in_background(move || index.reader()?.ranked(&wanted)).await?;
        let mut judge = Judge::new(self, permit);
        let mut draft = options.draft();
        for symbol in ranked {
            if judge.may_show(&symbol.file).await && !draft.add(symbol) {
                break;
            }
        }
        Ok(match draft.draw() {
            map if map.is_empty() => {
                ToolOutput::text("the index has no definitions, or there is no room for any")
            }
            map => ToolOutput::text(map),
        })
    }

    async fn update(&self, permit: &Permit, run: &ToolRun, force: bool) -> Result<Summary, IndexProblem> {
        let mut update = self.begin(run, force).await?;
        let mut refused = Vec::new();
        for file in update.changed() {
            if run.cancel.is_cancelled() {
                return Err(IndexProblem::Cancelled);
            }
            if !permit.may_read(&file).await {
                refused.push(file);
            }
        }
        update.leave_out(&refused);
        let mut report = Report::new(permit, run, update.changed().len());
        let (sender, mut read) = mpsc::unbounded_channel();
        let cancel = run.cancel.clone();
        let reading = spawn_blocking(move || {
            // A receiver that is gone wants no more progress.
            let mut progress = || {
                sender.send(()).ok();
            };
            let result = update.read_own(&|| cancel.is_cancelled(), &mut progress);
            (update, result)
        });
        while read.recv().await.is_some() {
            report.count_one();
        }
        let (mut update, result) = reading.await.map_err(|_| IndexProblem::Cancelled)?;
        // Also after a cancel: the files were indexed all the same.
        report.tell(update.take_indexed()).await;
        result?;
        let update = self.read_foreign(update, permit, run, &mut report).await?;
        in_background(move || update.finish()).await
    }

    async fn begin(&self, run: &ToolRun, force: bool) -> Result<Update, IndexProblem> {
        let (settings, cancel) = (Arc::clone(&self.settings), run.cancel.clone());
        in_background(move || {
            let is_cancelled = || cancel.is_cancelled();
            let options = UpdateOptions {
                force,
                limits: settings.limits,
                plugin_for: &|language| {
                    settings
                        .plugin_for(language)
                        .map(|plugin| plugin.name().to_owned())
                },
                is_cancelled: &is_cancelled,
            };
            Update::begin(&settings.index, &options)
        })
        .await
    }

    /// Lets plugins read the files of their languages, a few at a time.
    async fn read_foreign(
        &self,
        mut update: Update,
        permit: &Permit,
        run: &ToolRun,
        report: &mut Report<'_>,
    ) -> Result<Update, IndexProblem> {
        let mut failures: HashMap<&'static str, usize> = HashMap::new();
        loop {
            let mut batch = Vec::new();
            while batch.len() < PLUGINS_AT_ONCE
                && let Some(pending) = update.next_foreign()?
            {
                let has_failed = failures
                    .get(pending.language)
                    .is_some_and(|count| *count >= MOST_FAILURES_OF_PLUGIN);
                if has_failed {
                    let reason = "its plugin failed too often before".to_owned();
                    update.write_foreign(&pending, Err(reason))?;
                    report.count_one();
                } else {
                    batch.push(pending);
                }
            }
            if batch.is_empty() {
                return Ok(update);
            }
            let context_name = permit.scope().context_name.as_str();
            let reading = join_all(batch.iter().map(|pending| self.ask_plugin(pending, context_name)));
            let answers = tokio::select! {
                biased;
                // Dropping the calls ends the plugins' programs.
                () = run.cancel.cancelled() => return Err(IndexProblem::Cancelled),
                answers = reading => answers,
            };
            for (pending, answer) in batch.iter().zip(answers) {
                let count = failures.entry(pending.language).or_default();
                *count = if answer.is_ok() { 0 } else { *count + 1 };
                update.write_foreign(pending, answer)?;
                report.count_one();
            }
            update.keep()?;
            report.tell(update.take_indexed()).await;
        }
    }

    async fn ask_plugin(&self, pending: &Pending, context_name: &str) -> Result<Extract, String> {
        let plugin = self.settings.plugin_for(pending.language);
        let plugin = plugin.ok_or_else(|| format!("there is no plugin for {}", pending.language))?;
        let answer = plugin.read(&pending.path, &pending.content, context_name).await;
        answer.map_err(|error| format!("{}: {error}", plugin.name()))
    }
}

impl IndexSettings {
    fn plugin_for(&self, language: &str) -> Option<&Arc<dyn LanguagePlugin>> {
        self.plugins.iter().find(|plugin| plugin.language() == language)
    }
}

impl Tool for IndexTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        settled(self.own, arguments)
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.perform(&permit, &run).await {
                Ok(output) => output,
                Err(words) => ToolOutput::error(words),
            }
        })
    }
}

/// Tells hooks about each file, and reports progress.
struct Report<'a> {
    permit: &'a Permit,
    run: &'a ToolRun,
    done: usize,
    total: usize,
    last: Instant,
}

impl<'a> Report<'a> {
    fn new(permit: &'a Permit, run: &'a ToolRun, total: usize) -> Self {
        Self {
            permit,
            run,
            done: 0,
            total,
            last: Instant::now(),
        }
    }

    /// Tells hooks about files that are in the index now.
    async fn tell(&self, files: Vec<Indexed>) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        for indexed in files {
            let payload = || FileIndexedPayload {
                path: indexed.path,
                language: indexed.language.to_owned(),
                symbol_count: count(indexed.symbols),
                reference_count: count(indexed.references),
            };
            self.permit.hooks().tell::<FileIndexed>(payload).await;
        }
    }

    fn count_one(&mut self) {
        self.done += 1;
        if self.last.elapsed() >= PROGRESS_PAUSE || self.done == self.total {
            self.last = Instant::now();
            let words = format!("{} of {} files\n", self.done, self.total);
            // There need not be a watcher.
            drop(self.run.progress.send(words.into()));
        }
    }
}

/// Asks once for each file whether its contents may be shown.
struct Judge<'a> {
    tool: &'a IndexTool,
    permit: &'a Permit,
    known: HashMap<String, bool>,
}

impl<'a> Judge<'a> {
    fn new(tool: &'a IndexTool, permit: &'a Permit) -> Self {
        Self {
            tool,
            permit,
            known: HashMap::new(),
        }
    }

    async fn may_show(&mut self, file: &str) -> bool {
        if let Some(known) = self.known.get(file) {
            return *known;
        }
        let path = self.tool.settings.index.root.join(file);
        let may = self.permit.may_read(&path).await;
        self.known.insert(file.to_owned(), may);
        may
    }
}

/// Runs blocking work on a thread of its own.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexProblem> + Send + 'static,
) -> Result<T, IndexProblem> {
    // The task is never aborted, so it can only be missing because the program ends.
    spawn_blocking(work).await.unwrap_or(Err(IndexProblem::Cancelled))
}

fn list<T: ToString + serde::Serialize>(found: &[T], nothing: &str) -> ToolOutput {
    if found.is_empty() {
        return ToolOutput::text(nothing);
    }
    let lines: Vec<String> = found.iter().map(T::to_string).collect();
    ToolOutput {
        details: Some(json!(found)),
        ..ToolOutput::text(lines.join("\n"))
    }
}

/// A summary as text.
fn told(summary: &Summary) -> ToolOutput {
    let Summary {
        scanned,
        indexed,
        unchanged,
        removed,
        symbols,
        references,
        skipped,
    } = summary;
    let mut words = format!(
        "scanned: {scanned}, indexed: {indexed}, unchanged: {unchanged}, removed: {removed}, \
         symbols: {symbols}, references: {references}"
    );
    for file in skipped.iter().take(NAMED) {
        words.push_str(&format!("\nleft out {}: {}", file.path, file.reason));
    }
    if let Some(more) = skipped.len().checked_sub(NAMED).filter(|more| *more > 0) {
        words.push_str(&format!("\nleft out {more} more"));
    }
    words.push('\n');
    ToolOutput::text(words)
}

/// Arguments with the expected types; numbers and booleans may be written as text.
fn settled(own: &Own, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let takes = || {
        let names: Vec<String> = own
            .arguments
            .iter()
            .map(|known| format!("{} ({})", known.name, known.kind))
            .collect();
        match names.as_slice() {
            [] => format!("{} takes no arguments", own.name),
            names => format!("{} takes: {}", own.name, names.join(", ")),
        }
    };
    let mut settled = Map::new();
    for (name, value) in arguments {
        let Some(known) = own.arguments.iter().find(|known| known.name == name) else {
            return Err(format!("{} has no argument `{name}`. {}", own.name, takes()));
        };
        let written = value.as_str().map(str::trim);
        let value = match (known.kind, &value) {
            (_, Value::Null) => continue,
            ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => Some(value),
            ("boolean", _) => written
                .and_then(|text| text.parse::<bool>().ok())
                .map(Value::from),
            ("integer", _) => {
                let number = value.as_u64().or_else(|| written?.parse().ok());
                number
                    .filter(|number| (1..=known.most).contains(number))
                    .map(Value::from)
            }
            _ => None,
        };
        let wanted = match known.kind {
            "integer" => format!("a number from 1 to {}", known.most),
            kind => format!("of type {kind}"),
        };
        let value = value.ok_or_else(|| format!("argument `{name}` must be {wanted}. {}", takes()))?;
        settled.insert(name, value);
    }
    Ok(settled)
}
