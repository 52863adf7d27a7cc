//! The chat on a screen: the user types while the model works.
//!
//! One loop (`talk`) does one thing after another. Meanwhile the user's input is handled (`Chat::beside`): messages
//! steer the run or wait until it is over, extension commands and shell commands run at once, and what needs the
//! conversation itself waits until it is free.
//!
//! Ctrl-C is a key on a screen. A thread of its own reads keys, ends scripts that run at that moment, and turns a
//! Ctrl-C that is not handled into a signal: if the main thread hangs, the user can still end it.
//!
//! A cancelled run returns the messages that the user has sent meanwhile to the editor. Otherwise the model would get
//! them unexpectedly with the next prompt.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becket_agent::Input;
use becket_agent::session_handle::{Delivery, Moved, SessionHandle};
use becket_events::{InputSource, PermissionMode};
use becket_face_kit::slash::as_words;
use becket_face_kit::{Conversation, Options, Shell, conclude_summary, known_models, remark_on};
use becket_front::{Alert, Kind, Output, PROMPT, Style, result_line};
use becket_host::{CalledCommand, Interactive};
use becket_run::Jobs;
use becket_screen::{
    Action, Colours, CompletionRequest, Happening, Happenings, History, Key, Look, Narrowing, Screen, Slot,
    Streams, can_show,
};
use becket_system::{CliError, Exit, Signals, Surroundings, counted, harmless};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::away::{self, Away};
use super::completion::Completer;
use super::dropped::pictures;
use super::footer::Footer;
use super::jobs::running_jobs;
use super::opening::show_end;
use super::outside;
use super::own_commands::{
    Means, call, carry_out, choose_model, clear, help, mistyped, misused, print_by_itself, tell_end, usage,
};
use super::place::ChatSetting;
use super::{alert, clipboard, diff, keeping, picker, thinking};

/// How many lines of history are kept.
const HISTORY_LINES: usize = 10_000;

/// Two Ctrl-C within this time end the chat.
const TWICE: Duration = Duration::from_secs(5);

/// How often the waiting messages are checked.
const LOOK: Duration = Duration::from_millis(100);

/// The key of the widget that shows waiting messages.
const WAITING: &str = "becket";

/// How many waiting messages are shown.
const WAITING_LINES: usize = 5;

/// The name of the permission mode in the status line.
const MODE: &str = "becket-mode";

/// The keys of the chat, for `/help`.
const KEYS: &str = "\
!command runs in your shell, and !!command without telling the model
While the model works: Enter steers it, Alt+Enter follows up, Alt+Up takes back, Escape ends the run
Shift+Tab changes the permission mode: ask, accept-edits, plan, yes
Ctrl+J starts a new line, Ctrl+G opens your editor, Ctrl+O shows whole outputs, Ctrl+T shows thoughts
Ctrl+P or Ctrl+L chooses a model, Ctrl+V inserts the picture in the clipboard
";

/// Events of the screen. Its own thread sends them, so nothing that runs here can hold it up.
pub struct Keys {
    happenings: mpsc::UnboundedReceiver<Happening>,
    /// How many Ctrl-C have not been handled yet.
    unheard: Arc<AtomicUsize>,
}

/// Opens the screen; `None` if the terminal cannot show one.
pub fn open_screen(options: &Options, surroundings: &Surroundings, history: &Path) -> Option<Keys> {
    let is_terminal = surroundings.stdin_is_terminal
        && surroundings.stdout_is_terminal
        && surroundings.stderr_is_terminal
        && !options.run.json;
    let kind = surroundings.variable("TERM");
    if !is_terminal || !can_show(kind.as_deref()) {
        return None;
    }
    let coloured = Style::choose(options.color, true, surroundings).is_coloured();
    let wanted = becket_screen::Options {
        colours: if coloured { Colours::All } else { Colours::None },
        narrowing: Narrowing::of(kind.as_deref(), surroundings.variable("XTERM_VERSION").as_deref()),
        ..becket_screen::Options::default()
    };
    let (screen, happenings) = Screen::open(Streams::controlling_terminal().ok()?, wanted).ok()?;
    screen.edit(|editor| {
        editor.look = Look {
            prompt: PROMPT.into(),
            continuation: "  ".into(),
            placeholder: String::new(),
        };
        editor.triggers = vec!['/', '@'];
        editor.bind("alt+enter", Some(Action::Submit));
        // What it means in a chat is told below.
        for key in ["ctrl+t", "ctrl+p", "ctrl+l"] {
            editor.bind(key, None);
        }
        // At once: what is typed after it stays, however late the chat hears of the key.
        editor.bind("ctrl+c", Some(Action::Clear));
        // A history that cannot be kept is no reason not to talk.
        if let Ok(history) = History::open(history.to_path_buf(), HISTORY_LINES) {
            editor.history = history;
        }
    });
    let (sender, receiver) = mpsc::unbounded_channel();
    surroundings.screen.set(screen, sender.clone());
    let place = surroundings.screen.clone();
    surroundings.signals.at_end(move || place.close());
    let unheard = listen(happenings, surroundings.signals.clone(), sender);
    Some(Keys {
        happenings: receiver,
        unheard,
    })
}

/// Passes on the screen's events. Ctrl-C and Escape end a script that runs right now; a second Ctrl-C, before the first
/// was handled, becomes a signal.
fn listen(
    mut happenings: Happenings,
    signals: Signals,
    chat: mpsc::UnboundedSender<Happening>,
) -> Arc<AtomicUsize> {
    let unheard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&unheard);
    std::thread::spawn(move || {
        while let Some(happening) = happenings.blocking_next() {
            if let Happening::Key(key) = &happening {
                if key.is("ctrl+c") || key.is("escape") {
                    signals.end_scripts();
                }
                if key.is("ctrl+c") && counted.fetch_add(1, Ordering::Relaxed) > 0 {
                    signals.raise();
                }
            }
            if chat.send(happening).is_err() {
                return;
            }
        }
    });
    unheard
}

/// Runs the chat until the user leaves.
pub async fn talk(
    conversation: &mut Conversation,
    keys: Keys,
    signals: &Signals,
    place: ChatSetting<'_>,
) -> Result<Exit, CliError> {
    let Some(screen) = place.surroundings.screen.get() else {
        return Ok(Exit::Answered);
    };
    let Some(handle) = conversation.handle() else {
        return Err(CliError::failed("there is no session to talk in"));
    };
    let mut chat = Chat::new(screen, keys, handle, conversation, place);
    chat.show_mode();
    let outcome = chat.go_on(conversation, signals).await;
    chat.end();
    outcome
}

/// The state of the chat besides the conversation.
struct Chat<'a> {
    screen: Screen,
    keys: Keys,
    handle: SessionHandle,
    guests: Arc<dyn Interactive>,
    output: Arc<Output>,
    completer: Completer,
    footer: Footer,
    shell: Shell,
    place: ChatSetting<'a>,
    style: Style,
    /// Whether the conversation is at work.
    busy: bool,
    /// Lines that wait until the conversation is free.
    lines: VecDeque<String>,
    /// Tasks beside the conversation.
    tasks: Vec<(CancellationToken, tokio::task::JoinHandle<()>)>,
    /// The exit code, once the chat is to end.
    leaving: Option<Exit>,
    interrupted_at: Option<Instant>,
    /// The commands that the model has left in the background.
    jobs: Jobs,
    /// The jobs of which the user was told last that leaving ends them, until they send something.
    told_of_jobs: Option<String>,
    /// The folder for pictures from the clipboard.
    pictures: PathBuf,
    /// The waiting messages as they are shown.
    shown: Vec<String>,
    /// How the user is told of the end of long work, and of a question that waits.
    alert: Option<Alert>,
}

/// The next step of the loop.
enum Step {
    End(Exit),
    Request,
    Line(String),
}

impl<'a> Chat<'a> {
    fn new(
        screen: Screen,
        keys: Keys,
        handle: SessionHandle,
        conversation: &Conversation,
        place: ChatSetting<'a>,
    ) -> Self {
        let ChatSetting {
            options,
            surroundings,
            ..
        } = place;
        let style = Style::choose(options.color, true, surroundings);
        let guests = Arc::clone(conversation.guests());
        let alert = alert::of(&conversation.setup().config.chat, surroundings);
        conversation.output().activity().alert_with(alert);
        Self {
            completer: Completer::new(&screen, &guests, surroundings),
            footer: Footer::new(&screen, &handle, conversation, style),
            shell: conversation.shell(style, surroundings),
            screen,
            keys,
            handle,
            guests,
            output: conversation.output(),
            place,
            style,
            busy: false,
            lines: VecDeque::new(),
            tasks: Vec::new(),
            leaving: None,
            interrupted_at: None,
            jobs: conversation.assembled().jobs.clone(),
            told_of_jobs: None,
            pictures: pictures_folder(conversation),
            shown: Vec::new(),
            alert,
        }
    }

    async fn go_on(&mut self, conversation: &mut Conversation, signals: &Signals) -> Result<Exit, CliError> {
        loop {
            self.completer
                .know(conversation.command_names(), conversation.template_names());
            self.completer.know_models(known_models(conversation));
            self.footer.learn(conversation);
            self.set_shortcuts();
            match self.next(signals).await {
                Step::End(exit) => return Ok(exit),
                Step::Request => {
                    let work = conversation.attend(signals.next());
                    if let Some(end) = self.beside(work).await? {
                        remark_on(&end, &self.output, self.place.surroundings);
                    }
                }
                Step::Line(line) => self.run_line(&line, conversation, signals).await?,
            }
            if signals.ended() {
                return Ok(Exit::Cancelled);
            }
        }
    }

    /// Waits for the next step.
    async fn next(&mut self, signals: &Signals) -> Step {
        loop {
            if let Some(exit) = self.leaving {
                return Step::End(exit);
            }
            if let Some(line) = self.lines.pop_front() {
                self.show_waiting();
                return Step::Line(line);
            }
            let interrupted = signals.next();
            let handle = self.handle.clone();
            let happening = tokio::select! {
                biased;
                () = interrupted.cancelled() => return Step::End(Exit::Cancelled),
                () = handle.requested() => match handle.shutdown_requested() {
                    true => return Step::End(Exit::Answered),
                    false => return Step::Request,
                },
                happening = self.keys.happenings.recv() => happening,
            };
            self.hear(happening, signals);
        }
    }

    /// Does some work, and handles the user's input meanwhile.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.output.activity().begin();
        self.place
            .surroundings
            .screen
            .set_work(|work| work.is_busy = true);
        let begun = Instant::now();
        let done = self.beside_question(work).await;
        self.place
            .surroundings
            .screen
            .set_work(|work| work.is_busy = false);
        // Whoever has just answered a question is there.
        let alone = begun.elapsed().saturating_sub(self.output.activity().asked_for());
        if let Some(alert) = self.alert.filter(|alert| alone >= alert.after) {
            alert.give(&self.screen, "done");
        }
        done
    }

    /// Waits for an answer of the user's, which is no work that could be shown, and handles other input meanwhile.
    async fn beside_question<T>(&mut self, work: impl Future<Output = T>) -> T {
        let signals = self.place.surroundings.signals.clone();
        let mut work = pin!(work);
        self.busy = true;
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break done,
                happening = self.keys.happenings.recv() => self.hear(happening, &signals),
                () = tokio::time::sleep(LOOK) => {
                    self.show_waiting();
                    self.footer.show();
                }
            }
        };
        // A hook may have changed it.
        self.show_mode();
        self.busy = false;
        self.show_waiting();
        done
    }

    /// Does what a line says. The conversation is free.
    async fn run_line(
        &mut self,
        line: &str,
        conversation: &mut Conversation,
        signals: &Signals,
    ) -> Result<(), CliError> {
        self.output.echo(line, self.style);
        let ChatSetting {
            options,
            surroundings,
            ..
        } = self.place;
        match Means::within(line, conversation) {
            Means::Nothing => {}
            Means::Quit => self.leaving = Some(Exit::Answered),
            Means::Help => self
                .output
                .say(&format!("{}{KEYS}", harmless(&help(conversation)))),
            Means::Usage => self.output.say(&usage(conversation)),
            Means::Report(report) => self
                .output
                .say(&report.text(conversation, (options, surroundings))),
            Means::Model("") => self.pick_model(conversation).await,
            Means::Model(name) => self.tell_mistake(choose_model(name, conversation, surroundings)),
            Means::Thinking("") => self.pick_thinking(conversation).await,
            Means::Thinking(name) => self.tell_mistake(thinking::set(name, conversation, surroundings)),
            Means::Go(words) => {
                if let Some(prompt) = carry_out(words, options, surroundings) {
                    self.show_mode();
                    return self.say(&prompt, conversation, signals).await;
                }
            }
            Means::Compact(instructions) => {
                let work = conversation.compact(instructions, signals.next());
                conclude_summary(&self.beside(work).await?, surroundings);
            }
            Means::Clear => {
                let work = clear(conversation, signals.next(), surroundings);
                self.beside(work).await?;
            }
            Means::Away(away) => self.leave_for(away, conversation, signals).await?,
            Means::Name(name) => call(name, conversation, surroundings).await?,
            Means::Diff => self.show_diff(conversation).await,
            Means::Copy => keeping::copy(conversation, &self.screen, surroundings),
            Means::Export(file) => keeping::export(file, conversation, surroundings),
            Means::Prints(prints) => {
                // What it prints, it prints on the terminal.
                let _lent = self.screen.suspend();
                self.tell_mistake(print_by_itself(prints, line, conversation, self.place));
            }
            Means::Misused(command) => surroundings.complain(&misused(command)),
            Means::Other => return self.say(line, conversation, signals).await,
        }
        Ok(())
    }

    /// Lets the user choose a model.
    async fn pick_model(&mut self, conversation: &Conversation) {
        let (screen, surroundings) = (self.screen.clone(), self.place.surroundings);
        let names = self.beside(picker::names(conversation, surroundings)).await;
        let chosen = self.beside_question(picker::choose(&names, conversation, &screen));
        if let Some(name) = chosen.await {
            self.tell_mistake(choose_model(&name, conversation, surroundings));
        }
    }

    /// Tells the user why a command was not carried out.
    fn tell_mistake(&self, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            self.place.surroundings.complain(&why);
        }
    }

    /// Lets the user choose how much the model thinks.
    async fn pick_thinking(&mut self, conversation: &Conversation) {
        let screen = self.screen.clone();
        let chosen = self.beside_question(thinking::choose(conversation, &screen));
        if let Some(name) = chosen.await {
            self.tell_mistake(thinking::set(name, conversation, self.place.surroundings));
        }
    }

    /// Shows what has changed in the git repository.
    async fn show_diff(&mut self, conversation: &Conversation) {
        let environment = Arc::clone(&self.shell.environment);
        let looking = diff::Looking {
            environment: &environment,
            folder: &self.place.surroundings.cwd,
            scratch: &diff::scratch(conversation),
        };
        let lines = self.beside(diff::of(looking, self.style)).await;
        diff::show(lines, &self.output, self.place.surroundings);
    }

    /// Sends a line to the model.
    async fn say(
        &mut self,
        line: &str,
        conversation: &mut Conversation,
        signals: &Signals,
    ) -> Result<(), CliError> {
        if let Some(why) = mistyped(line, &conversation.other_commands()) {
            self.place.surroundings.complain(&why);
            return Ok(());
        }
        let cancel = signals.next();
        let prompt = self.beside(conversation.typed_prompt(line, &cancel)).await?;
        match prompt {
            Ok(prompt) if prompt.trim().is_empty() => {}
            Ok(prompt) => {
                conversation.add_pictures(pictures(line, self.place.surroundings));
                let end = self.beside(conversation.ask(prompt, cancel)).await?;
                remark_on(&end, &self.output, self.place.surroundings);
            }
            Err(why) => self.place.surroundings.complain(&why),
        }
        Ok(())
    }

    /// Continues in another place. The message at the chosen entry is put into the editor if that is empty.
    async fn leave_for(
        &mut self,
        away: Away<'_>,
        conversation: &mut Conversation,
        signals: &Signals,
    ) -> Result<(), CliError> {
        let (screen, surroundings) = (self.screen.clone(), self.place.surroundings);
        let to = match self
            .beside_question(away.destination(conversation, Some(&screen)))
            .await
        {
            Ok(Some(to)) => to,
            Ok(None) => return Ok(()),
            Err(error) => {
                surroundings.complain(&error.to_string());
                return Ok(());
            }
        };
        let end = self.beside(conversation.go(to, &signals.next())).await?;
        if matches!(end, Ok(Moved::Went { .. })) {
            self.arrived(away, conversation);
        }
        let told = away::told(away, end, conversation, surroundings);
        let text = told.unwrap_or_else(|why| {
            surroundings.complain(&why);
            None
        });
        if let Some(text) = text {
            let is_empty = screen.edit(|editor| {
                let is_empty = editor.text().is_empty();
                if is_empty {
                    editor.set_text(&text);
                }
                is_empty
            });
            if is_empty {
                self.tell_editor(&text);
            }
        }
        Ok(())
    }

    /// Another conversation may go on: its end is shown, and its cost is counted anew.
    fn arrived(&self, away: Away<'_>, conversation: &Conversation) {
        match away {
            Away::Reload => return,
            Away::Tree(_) => {}
            Away::New | Away::Resume(_) | Away::Fork(_) | Away::Clone => {
                self.output.forget_conversation();
            }
        }
        show_end(conversation, self.style);
    }

    /// Handles an event of the screen.
    fn hear(&mut self, happening: Option<Happening>, signals: &Signals) {
        match happening {
            Some(Happening::Submitted { text, key }) => self.submitted(text.trim(), &key, signals),
            Some(Happening::Key(key)) => self.pressed(&key, signals),
            Some(Happening::Completion(request)) => self.complete(request),
            Some(Happening::Intercepted(key)) => {
                if !self.guests.intercepted(&key) {
                    self.screen.press(&key);
                }
            }
            Some(Happening::Resized(_) | Happening::Continued) => {}
            Some(Happening::Ended) | None => self.leave(Exit::HungUp, signals),
        }
    }

    fn complete(&self, request: CompletionRequest) {
        self.completer.complete(request);
    }

    /// Handles a line that the user has entered.
    fn submitted(&mut self, line: &str, key: &str, signals: &Signals) {
        if line.is_empty() {
            return;
        }
        self.told_of_jobs = None;
        if matches!(Means::of(line), Means::Quit) {
            return self.leave(Exit::Answered, signals);
        }
        if line.starts_with('!') {
            self.output.echo(line, self.style);
            let cancel = CancellationToken::new();
            let running = self.shell.start(line, &cancel, self.handle.clone());
            return self.begin(cancel, running);
        }
        if let Some(called) = self.guests.command(line) {
            self.output.echo(line, self.style);
            return self.run_command(called);
        }
        let is_command = line.starts_with('/') && self.completer.is_command(line);
        if !self.busy || is_command || !self.handle.is_running() {
            self.lines.push_back(line.to_owned());
        } else if let Some(why) = self.completer.mistyped(line) {
            self.place.surroundings.complain(&why);
        } else {
            let (delivery, source) = match key {
                "enter" => (Delivery::Steering, InputSource::Steering),
                _ => (Delivery::FollowUp, InputSource::FollowUp),
            };
            let input = Input {
                text: as_words(line).unwrap_or_else(|| line.to_owned()),
                images: pictures(line, self.place.surroundings),
                source,
            };
            if let Err(error) = self.handle.messages().say(input, delivery) {
                self.place.surroundings.complain(&error.to_string());
            }
        }
        self.show_waiting();
    }

    /// Runs an extension command beside everything else.
    fn run_command(&mut self, called: CalledCommand) {
        let (surroundings, cancel) = (self.place.surroundings.clone(), CancellationToken::new());
        let stop = cancel.clone();
        self.begin(cancel, async move {
            let ended = called(stop).await;
            tell_end(ended, &surroundings);
        });
    }

    fn begin(&mut self, cancel: CancellationToken, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.retain(|(_, task)| !task.is_finished());
        self.tasks.push((cancel, tokio::spawn(work)));
    }

    /// Handles a key that the editor has not used.
    fn pressed(&mut self, key: &Key, signals: &Signals) {
        if key.is("ctrl+c") {
            self.keys.unheard.store(0, Ordering::Relaxed);
            self.interrupted(signals);
        } else if key.is("ctrl+d") {
            self.leave_or_tell_jobs(signals);
        } else if key.is("escape") {
            self.stop(signals);
        } else if key.is("alt+up") {
            self.take_back();
        } else if key.is("ctrl+t") {
            self.toggle_thoughts();
        } else if key.is("ctrl+o") {
            self.toggle_outputs();
        } else if key.is("shift+tab") {
            self.change_mode();
        } else if key.is("ctrl+g") {
            self.edit_outside();
        } else if key.is("ctrl+v") && self.guests.shortcut(key).is_none() {
            self.paste_picture();
        } else if (key.is("ctrl+p") || key.is("ctrl+l")) && self.guests.shortcut(key).is_none() {
            self.lines.push_back("/model".into());
            self.show_waiting();
        } else if let Some(shortcut) = self.guests.shortcut(key) {
            let surroundings = self.place.surroundings.clone();
            self.begin(CancellationToken::new(), async move {
                if let Err(why) = shortcut.await {
                    surroundings.complain(&why);
                }
            });
        }
    }

    fn toggle_thoughts(&self) {
        let place = &self.place.surroundings.screen;
        let detail = place.set_detail(|detail| detail.has_thoughts = !detail.has_thoughts);
        self.place.surroundings.remark(match detail.has_thoughts {
            true => "thinking is now shown",
            false => "thoughts are not shown any more",
        });
    }

    /// Switches between whole and shortened outputs, and shows the last shortened one in full.
    fn toggle_outputs(&self) {
        let place = &self.place.surroundings.screen;
        let detail = place.set_detail(|detail| detail.has_outputs = !detail.has_outputs);
        if !detail.has_outputs {
            return self.place.surroundings.remark("long outputs are now cut");
        }
        if let Some(output) = self.output.take_cut() {
            let kind = Kind::of(&output, false);
            for line in output.lines() {
                let line = result_line(line, kind, self.style);
                self.output.say_as_is(&format!("  {line}"));
            }
        }
        self.place
            .surroundings
            .remark("whole outputs are shown from now on");
    }

    /// Changes the permission mode to the next one. The next call is judged in it.
    fn change_mode(&self) {
        let mode = &self.place.options.run.permission_mode;
        mode.set(mode.get().next());
        self.show_mode();
    }

    /// Shows the permission mode, unless it is the usual one.
    fn show_mode(&self) {
        let mode = self.place.options.run.permission_mode.get();
        let words = format!("{} mode (Shift+Tab changes it)", mode.word());
        let words = match mode {
            PermissionMode::Ask => None,
            PermissionMode::AcceptEdits => Some(self.style.yellow(&words)),
            PermissionMode::Plan => Some(self.style.cyan(&format!("{words}; /go carries the plan out"))),
            PermissionMode::Yes => Some(self.style.red(&words)),
        };
        self.screen.set_status(MODE, words.as_deref());
    }

    /// Opens the user's own editor.
    fn edit_outside(&mut self) {
        let (screen, surroundings) = (self.screen.clone(), self.place.surroundings.clone());
        let (guests, environment) = (Arc::clone(&self.guests), Arc::clone(&self.shell.environment));
        self.begin(CancellationToken::new(), async move {
            match outside::edited(&screen, environment, &surroundings).await {
                Ok(Some(text)) => {
                    screen.edit(|editor| editor.set_text(&text));
                    guests.tell_editor(&text);
                }
                Ok(None) => {}
                Err(why) => surroundings.complain(&why),
            }
        });
    }

    /// Puts the path of the picture in the clipboard into the line, in a form that the line is read in.
    fn paste_picture(&mut self) {
        let (screen, surroundings) = (self.screen.clone(), self.place.surroundings.clone());
        let (environment, folder) = (Arc::clone(&self.shell.environment), self.pictures.clone());
        self.begin(CancellationToken::new(), async move {
            match clipboard::picture(environment, folder).await {
                Ok(file) => screen.edit(|editor| editor.paste(&format!("'{}' ", file.display()))),
                Err(why) => surroundings.complain(&why),
            }
        });
    }

    /// Handles Ctrl-C with an empty editor: ends what runs; if nothing runs, the second one ends the chat.
    fn interrupted(&mut self, signals: &Signals) {
        if self.empties_editor() {
            return;
        }
        if self.busy && signals.cancelled() {
            // It is being ended already; who cannot wait for that ends the program.
            signals.raise();
        } else if self.stop(signals) {
        } else if self.interrupted_at.is_some_and(|before| before.elapsed() < TWICE) {
            self.leaving = Some(Exit::Answered);
        } else {
            self.interrupted_at = Some(Instant::now());
            self.place
                .surroundings
                .remark("press Ctrl-C again to end the chat");
        }
    }

    /// Clears an extension's editor, which does not know that key. Returns whether there was text in it.
    fn empties_editor(&self) -> bool {
        if !self.guests.has_editor() {
            return false;
        }
        let has_words = self.screen.edit(|editor| {
            let has_words = !editor.text().is_empty();
            editor.clear();
            has_words
        });
        has_words && self.guests.tell_editor("")
    }

    /// Ends what runs: first commands beside the conversation. Returns whether anything did.
    fn stop(&mut self, signals: &Signals) -> bool {
        self.tasks.retain(|(_, task)| !task.is_finished());
        let tasks = std::mem::take(&mut self.tasks);
        tasks.iter().for_each(|(cancel, _)| cancel.cancel());
        if !tasks.is_empty() {
            return true;
        }
        if self.busy {
            self.take_back();
            signals.cancel();
        }
        self.busy
    }

    /// Puts messages that the model has not got yet back into the editor.
    fn take_back(&mut self) {
        let mut words = self.handle.messages().take_back();
        words.extend(self.lines.drain(..));
        if !words.is_empty() {
            let text = self.screen.edit(|editor| {
                words.extend((!editor.text().is_empty()).then(|| editor.expanded()));
                let text = words.join("\n\n");
                editor.set_text(&text);
                text
            });
            self.tell_editor(&text);
        }
        self.show_waiting();
    }

    /// Tells an extension's editor the text that is in it now.
    fn tell_editor(&self, text: &str) {
        self.guests.tell_editor(text);
    }

    /// Ends the chat. If that ends background jobs, the user is told first, and has to say it again.
    fn leave_or_tell_jobs(&mut self, signals: &Signals) {
        let running = running_jobs(&self.jobs);
        match running.filter(|running| self.told_of_jobs.as_ref() != Some(running)) {
            None => self.leave(Exit::Answered, signals),
            Some(running) => {
                let words = format!("{running}; press Ctrl-D again to end the chat and what runs");
                self.place.surroundings.remark(&words);
                self.told_of_jobs = Some(running);
            }
        }
    }

    fn leave(&mut self, exit: Exit, signals: &Signals) {
        self.leaving = Some(exit);
        if self.busy {
            signals.cancel();
        }
    }

    /// Shows the waiting messages.
    fn show_waiting(&mut self) {
        let said = self.handle.messages().waiting_words().into_iter();
        let said = said.map(|(delivery, words)| match delivery {
            Delivery::Steering => format!("steering: {words}"),
            _ => format!("follow-up: {words}"),
        });
        let lines = self.lines.iter().map(|line| format!("then: {line}"));
        let shown: Vec<String> = said.chain(lines).map(|line| harmless(&line)).collect();
        if shown != self.shown {
            let dim = |line: &String| self.style.dim(&line.replace('\n', " "));
            let mut lines: Vec<String> = shown.iter().take(WAITING_LINES).map(dim).collect();
            if let Some(left) = shown.len().checked_sub(WAITING_LINES + 1) {
                let more = format!("… {}", counted(left as u64 + 1, "more line"));
                lines.push(self.style.dim(&more));
            }
            let slot = Slot::Above(WAITING.into());
            self.screen.set(slot, (!lines.is_empty()).then_some(lines));
            self.shown = shown;
        }
    }

    fn set_shortcuts(&self) {
        self.screen.set_shortcuts(self.guests.shortcut_keys());
    }

    /// Ends the chat and what runs beside it.
    fn end(&mut self) {
        for (cancel, task) in self.tasks.drain(..) {
            cancel.cancel();
            task.abort();
        }
        // The messages hold the pictures themselves.
        let _ = std::fs::remove_dir_all(&self.pictures);
    }
}

/// The folder of this chat for pictures from the clipboard.
fn pictures_folder(conversation: &Conversation) -> PathBuf {
    let cache = &conversation.setup().folders.cache;
    cache.join("clipboard").join(std::process::id().to_string())
}
