//! The screen as a program uses it: from any thread, with everything that happens as a stream.
//!
//! The screen has two threads. One reads the terminal and passes keys to the component with the focus; one paints, at
//! most sixty times a second, and immediately when nothing was painted for a while. Calls only change what is to be
//! shown.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};
use tokio::sync::mpsc;

use crate::component::{Component, Hears, Owner, Remote};
use crate::compose::{Pressed, Role, Slot, Stage, Working};
use crate::dialog::{Dialog, DialogAnswer, Question, Unanswered, Waiting};
use crate::editor::{CompletionRequest, Completions, Editor};
use crate::keys::{Input, Key, Phase, Protocol, Splitter, Waits};
use crate::list::Entry;
use crate::live::{Narrowing, Painter, Size};
use crate::notification::Notifier;
use crate::overlay::{Id, OverlayOptions};
use crate::terminal::{Arrived, Ears, Streams, Terminal, Waker};
use crate::text::Colours;

/// The shortest time between two paints.
const FRAME: Duration = Duration::from_millis(16);
/// How long a lone Escape may be the beginning of a sequence.
const ESCAPE_PAUSE: Duration = Duration::from_millis(25);
/// How long a paste may pause before it counts as complete.
const PASTE_PAUSE: Duration = Duration::from_secs(1);
/// How long a terminal may take to report that it speaks the kitty protocol.
const KITTY_PAUSE: Duration = Duration::from_millis(150);
/// How long the reader may take to release the terminal, and a stop to happen.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// Options for opening a screen.
#[derive(Debug, Clone)]
pub struct Options {
    pub colours: Colours,
    pub narrowing: Narrowing,
    /// The key that suspends the program until the shell continues it.
    pub stop_key: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            colours: Colours::All,
            narrowing: Narrowing::Reflows,
            stop_key: Some("ctrl+z".into()),
        }
    }
}

/// What happens at the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A text was submitted, by the key with this name.
    Submitted {
        text: String,
        key: String,
    },
    /// A key that was not handled, or a shortcut.
    Key(Key),
    /// A key while keys are intercepted. [`Screen::press`] passes it on.
    Intercepted(Key),
    /// The editor wants completions. [`Screen::complete`] answers.
    Completion(CompletionRequest),
    Resized(Size),
    /// The program was suspended and continues.
    Continued,
    /// The terminal is gone. Nothing follows.
    Ended,
}

struct Inner {
    stage: Stage,
    painter: Painter,
    dirty: bool,
    painted_at: Instant,
    /// How many borrowers the terminal has.
    away: usize,
    parked: bool,
    closed: bool,
    intercepting: bool,
}

struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
    terminal: Terminal,
    waker: Waker,
    ids: AtomicU64,
    /// The channel for events; `None` when the screen is closed.
    happenings: Mutex<Option<mpsc::UnboundedSender<Happening>>>,
}

/// A screen. Clones are the same screen; it closes with the last of them.
#[derive(Clone)]
pub struct Screen {
    shared: Arc<Shared>,
    _closing: Arc<Closing>,
}

struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The stream of events, in order.
pub struct Happenings(mpsc::UnboundedReceiver<Happening>);

impl Happenings {
    /// Waits for the next event; `None` when the screen is closed. Cancel safe: loses nothing when dropped while
    /// waiting.
    pub async fn next(&mut self) -> Option<Happening> {
        self.0.recv().await
    }

    /// Waits for the next event on a blocking thread; `None` when the screen is closed.
    pub fn blocking_next(&mut self) -> Option<Happening> {
        self.0.blocking_recv()
    }
}

impl Screen {
    /// Takes the terminal. It is restored when the last clone is dropped, by [`Screen::close`], and when a thread
    /// panics.
    pub fn open(streams: Streams, options: Options) -> io::Result<(Self, Happenings)> {
        let terminal = Terminal::open(streams)?;
        let (ears, waker) = Ears::open()?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let inner = Inner {
            stage: Stage::default(),
            painter: Painter::new(terminal.size(), options.colours, options.narrowing),
            dirty: true,
            painted_at: Instant::now() - FRAME,
            away: 0,
            parked: false,
            closed: false,
            intercepting: false,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            terminal,
            waker,
            ids: AtomicU64::new(1),
            happenings: Mutex::new(Some(sender)),
        });
        shared.terminal.enter()?;
        give_back_on_panic(Arc::downgrade(&shared));
        let screen = Self {
            _closing: Arc::new(Closing(Arc::clone(&shared))),
            shared: Arc::clone(&shared),
        };
        let reader = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("keys".into())
            .spawn(move || read(&reader, ears, options.stop_key.as_deref()))?;
        std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || paint(&shared))?;
        Ok((screen, Happenings(receiver)))
    }

    /// Puts whole lines into the scrollback, above a line that is still streaming.
    pub fn print(&self, text: &str) {
        self.shared.change(|inner| inner.painter.print(text));
    }

    /// Adds to the streaming text. Its last line is part of the live area until it ends.
    pub fn stream(&self, text: &str) {
        self.shared.change(|inner| inner.painter.stream(text));
    }

    /// Ends the streaming text and its last line.
    pub fn finish_stream(&self) {
        self.shared.change(|inner| inner.painter.finish());
    }

    /// Puts lines into a slot, or empties it.
    pub fn set(&self, slot: Slot, lines: Option<Vec<String>>) {
        let content = lines.map(|lines| Box::new(lines) as Box<dyn Component>);
        drop(self.shared.change(|inner| inner.stage.set(slot, 0, content)));
    }

    /// Puts a component into a slot, until something else is put there.
    pub fn set_lasting(&self, slot: Slot, component: Box<dyn Component>) {
        let content = Some(component);
        drop(self.shared.change(|inner| inner.stage.set(slot, 0, content)));
    }

    /// Puts a component into a slot, until something else is put there or the handle is dropped.
    pub fn set_component(&self, slot: Slot, component: Box<dyn Component>) -> Handle {
        let handle = self.handle();
        let content = Some(component);
        drop(
            self.shared
                .change(|inner| inner.stage.set(slot, handle.id, content)),
        );
        handle
    }

    /// Sets the line that shows that work is going on.
    pub fn set_working(&self, working: Option<Working>) {
        self.shared.change(|inner| inner.stage.set_working(working));
    }

    /// Sets a text of the status line, by its name.
    pub fn set_status(&self, name: &str, text: Option<&str>) {
        self.shared.change(|inner| inner.stage.set_status(name, text));
    }

    /// Sets the title of the window, until the screen is closed.
    pub fn set_title(&self, title: &str) {
        self.shared.terminal.set_title(title);
    }

    /// Rings the terminal's bell.
    pub fn ring(&self) {
        self.shared.terminal.tell("\x07");
    }

    /// Lets the terminal notify the desktop.
    pub fn notify(&self, notifier: Notifier, title: &str, text: &str) {
        self.shared.terminal.tell(&notifier.bytes(title, text));
    }

    /// Sends the terminal an operating system command that neither draws nor moves the cursor, such as one for a
    /// notification of the caller's own. Control characters are left out of its text.
    pub fn command(&self, number: u16, text: &str) {
        let text: String = text.chars().filter(|character| !character.is_control()).collect();
        self.shared.terminal.tell(&format!("\x1b]{number};{text}\x07"));
    }

    /// Gives a text to the terminal for its clipboard. Not every terminal takes it.
    pub fn copy(&self, text: &str) {
        self.shared
            .terminal
            .tell(&format!("\x1b]52;c;{}\x07", base64(text.as_bytes())));
    }

    /// Sets the keys that come as [`Happening::Key`] before an editor gets them, by their names.
    pub fn set_shortcuts(&self, names: Vec<String>) {
        self.shared.change(|inner| inner.stage.shortcuts = names);
    }

    /// Works with the editor: its text, history, keys and look.
    pub fn edit<T>(&self, work: impl FnOnce(&mut Editor) -> T) -> T {
        self.shared.change(|inner| work(&mut inner.stage.editor))
    }

    /// Works with the text field in which the user types now, which may be a dialog's; `None` if there is none.
    pub fn edit_focused<T>(&self, work: impl FnOnce(&mut Editor) -> T) -> Option<T> {
        self.shared.change(|inner| inner.stage.text_field().map(work))
    }

    /// Answers a request of the editor.
    pub fn complete(&self, request: u64, completions: Completions) {
        self.shared
            .change(|inner| inner.stage.editor.offer(request, completions));
    }

    /// Puts a component in the editor's place, until the handle is dropped.
    pub fn show(&self, component: Box<dyn Component>, role: Role) -> Handle {
        let handle = self.handle();
        self.shared
            .change(|inner| inner.stage.stand(handle.id, role, component));
        handle
    }

    /// Puts a component on top of everything, until the handle is dropped.
    pub fn overlay(&self, component: Box<dyn Component>, options: OverlayOptions) -> Handle {
        let handle = self.handle();
        self.shared
            .change(|inner| inner.stage.overlays.add(handle.id, component, options));
        handle
    }

    /// A component whose owner is elsewhere, and its owner's end. The component still has to be placed somewhere.
    pub fn remote(&self, hears: Hears) -> (Remote, Owner) {
        let shared = Arc::downgrade(&self.shared);
        let repaint = move || {
            if let Some(shared) = shared.upgrade() {
                shared.change(|_| {});
            }
        };
        Remote::new(hears, Arc::new(repaint))
    }

    /// Lets the user choose one of some options; the answer is its number, from 0 on.
    pub fn select(&self, question: Question, options: Vec<Entry>) -> Asked<usize> {
        self.ask(Dialog::select(question, options), |answer| match answer {
            DialogAnswer::Chosen(number) => Some(number),
            _ => None,
        })
    }

    /// Asks for yes or no; `preset` is what Enter means at first.
    pub fn confirm(&self, question: Question, preset: bool) -> Asked<bool> {
        self.ask(Dialog::confirm(question, preset), |answer| match answer {
            DialogAnswer::Confirmed(yes) => Some(yes),
            _ => None,
        })
    }

    /// Asks for a line.
    pub fn input(&self, question: Question, placeholder: &str) -> Asked<String> {
        self.ask(Dialog::input(question, placeholder), text_of)
    }

    /// Asks for a text of several lines.
    pub fn text(&self, question: Question, text: &str) -> Asked<String> {
        self.ask(Dialog::editor(question, text), text_of)
    }

    fn ask<T>(
        &self,
        (mut dialog, waiting): (Dialog, Waiting),
        meaning: fn(DialogAnswer) -> Option<T>,
    ) -> Asked<T> {
        self.shared.change(|inner| {
            // A question on a closed screen could never be answered.
            if !inner.closed {
                if let Some(message) = dialog.take_long_message(inner.painter.size()) {
                    inner.painter.print(&message);
                }
                inner.stage.ask(dialog);
            }
        });
        Asked {
            waiting,
            meaning,
            shared: Arc::downgrade(&self.shared),
        }
    }

    /// Starts or stops intercepting: keys come as [`Happening::Intercepted`] and reach no component.
    pub fn intercept(&self, intercepting: bool) {
        self.shared.change(|inner| inner.intercepting = intercepting);
    }

    /// Passes a key to the component with the focus, as if it had been pressed now.
    pub fn press(&self, key: &Key) {
        let mut inner = self.shared.lock();
        self.shared.press(&mut inner, key);
    }

    /// Gives up the terminal as long as the guard lives. The live area is removed meanwhile.
    pub fn suspend(&self) -> Suspended {
        self.shared.suspend();
        Suspended {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Whether the terminal is given up.
    pub fn is_suspended(&self) -> bool {
        self.shared.lock().away > 0
    }

    pub fn size(&self) -> Size {
        self.shared.lock().painter.size()
    }

    /// The keyboard protocol; components that parse sequences themselves need it.
    pub fn protocol(&self) -> Protocol {
        self.shared.terminal.protocol()
    }

    /// Requests a repaint, for components that look different now.
    pub fn repaint(&self) {
        self.shared.change(|_| {});
    }

    /// Restores the terminal. Printed text stays, the live area is removed. Later calls do nothing.
    pub fn close(&self) {
        self.shared.close();
    }

    fn handle(&self) -> Handle {
        Handle {
            id: self.shared.id(),
            shared: Arc::downgrade(&self.shared),
        }
    }
}

/// Bytes as a terminal wants them for its clipboard.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > group.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

fn text_of(answer: DialogAnswer) -> Option<String> {
    match answer {
        DialogAnswer::Text(text) => Some(text),
        _ => None,
    }
}

/// A component on the screen. Dropping the handle removes it.
pub struct Handle {
    id: Id,
    shared: Weak<Shared>,
}

impl Handle {
    fn with<T>(&self, work: impl FnOnce(&mut Stage, Size) -> T) -> Option<T> {
        let shared = self.shared.upgrade()?;
        Some(shared.change(|inner| {
            let size = inner.painter.size();
            work(&mut inner.stage, size)
        }))
    }

    /// Hides an overlay for a while, or shows it again.
    pub fn set_hidden(&self, hidden: bool) {
        self.with(|stage, size| stage.overlays.hide(self.id, hidden, size));
    }

    pub fn is_hidden(&self) -> bool {
        self.with(|stage, _| stage.overlays.is_hidden(self.id)) == Some(true)
    }

    /// Gives an overlay the keys and puts it in front.
    pub fn focus(&self) {
        self.with(|stage, size| stage.overlays.focus(self.id, size));
    }

    /// Takes the keys from an overlay.
    pub fn unfocus(&self) {
        self.with(|stage, size| stage.overlays.unfocus(self.id, size));
    }

    pub fn is_focused(&self) -> bool {
        self.with(|stage, size| stage.overlays.has_focus(self.id, size)) == Some(true)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.with(|stage, size| stage.remove(self.id, size)));
    }
}

/// An answer that is waited for. Dropping it removes the question from the screen.
pub struct Asked<T> {
    waiting: Waiting,
    meaning: fn(DialogAnswer) -> Option<T>,
    shared: Weak<Shared>,
}

impl<T> Asked<T> {
    /// Waits for the answer on a blocking thread.
    pub fn blocking_wait(mut self) -> Result<T, Unanswered> {
        // The field is replaced because a value that implements `Drop` cannot be taken apart.
        let (_, closed) = tokio::sync::oneshot::channel();
        let waiting = std::mem::replace(&mut self.waiting, closed);
        self.read(waiting.blocking_recv().unwrap_or(Err(Unanswered::Closed)))
    }

    fn read(&self, answer: Result<DialogAnswer, Unanswered>) -> Result<T, Unanswered> {
        answer.and_then(|answer| (self.meaning)(answer).ok_or(Unanswered::Closed))
    }
}

impl<T> Future for Asked<T> {
    type Output = Result<T, Unanswered>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.waiting).poll(context) {
            Poll::Ready(answer) => Poll::Ready(self.read(answer.unwrap_or(Err(Unanswered::Closed)))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T> Drop for Asked<T> {
    fn drop(&mut self) {
        // The screen sees that the receiver is closed when it looks at its dialogs.
        self.waiting.close();
        if let Some(shared) = self.shared.upgrade() {
            shared.change(|_| {});
        }
    }
}

/// The terminal is given up as long as this lives.
pub struct Suspended {
    shared: Arc<Shared>,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        self.shared.resume();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self) -> Id {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Changes something, and requests a repaint.
    fn change<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let result = work(&mut inner);
        self.show(&mut inner);
        result
    }

    fn show(&self, inner: &mut Inner) {
        self.ask_for_completion(inner);
        inner.dirty = true;
        self.changed.notify_all();
    }

    fn tell(&self, happening: Happening) {
        let happenings = self.happenings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(happenings) = happenings.as_ref() {
            // Without a listener the event is not needed.
            let _ = happenings.send(happening);
        }
    }

    fn ask_for_completion(&self, inner: &mut Inner) {
        if let Some(request) = inner.stage.editor.take_request() {
            self.tell(Happening::Completion(request));
        }
    }

    fn press(&self, inner: &mut Inner, key: &Key) {
        let size = inner.painter.size();
        match inner.stage.press(key, size) {
            Pressed::Taken => {}
            Pressed::Left => self.tell(Happening::Key(key.clone())),
            Pressed::Submitted(text) => {
                // A history that cannot be saved must not stop the chat.
                let _ = inner.stage.editor.history.add(&text);
                self.tell(Happening::Submitted {
                    text,
                    key: key.name.clone(),
                });
            }
        }
        if let Some(text) = inner.stage.take_printed() {
            inner.painter.print(&text);
        }
        inner.stage.sweep(Instant::now(), size);
        self.show(inner);
    }

    /// Removes the live area and restores the terminal, until [`Shared::resume`].
    fn give(&self, inner: &mut Inner) {
        inner.away += 1;
        if inner.away == 1 && self.terminal.is_entered() {
            let bytes = inner.painter.clear();
            self.terminal.paint(&bytes, false, 0);
            self.terminal.leave();
        }
    }

    fn suspend(&self) {
        let mut inner = self.lock();
        self.give(&mut inner);
        self.waker.wake();
        let reads = |inner: &mut Inner| !inner.parked && !inner.closed;
        let waited = self.changed.wait_timeout_while(inner, RELEASE_TIMEOUT, reads);
        drop(waited);
    }

    fn resume(&self) {
        let mut inner = self.lock();
        inner.away = inner.away.saturating_sub(1);
        if inner.away == 0 && !inner.closed {
            self.take_back(&mut inner);
        }
    }

    /// Takes the terminal again. Whatever is on it stays.
    fn take_back(&self, inner: &mut Inner) {
        let _ = self.terminal.enter();
        let size = self.terminal.size();
        if size != inner.painter.size() {
            inner.painter.resize(size);
            self.tell(Happening::Resized(size));
        }
        inner.painter.forget();
        self.show(inner);
    }

    fn paint(&self, inner: &mut Inner) {
        if !self.terminal.is_entered() {
            // A thread that panicked has restored the terminal, but the program lives on.
            let _ = self.terminal.enter();
            inner.painter.forget();
        }
        inner.painter.protocol = self.terminal.protocol();
        let size = inner.painter.size();
        let frame = inner.stage.render(inner.painter.unfinished(), size);
        let sheet = inner.stage.overlays.any_seen(size);
        let bytes = if sheet {
            let picture = inner.painter.picture(frame.window(size.rows));
            let covered = inner.stage.overlays.cover(picture, size);
            inner.painter.paint_sheet(covered)
        } else {
            inner.painter.paint(frame)
        };
        self.terminal.paint(&bytes, sheet, inner.painter.rows_below());
        inner.dirty = false;
        inner.painted_at = Instant::now();
    }

    fn close(&self) {
        let mut inner = self.lock();
        if std::mem::replace(&mut inner.closed, true) {
            return;
        }
        inner.painter.finish();
        if inner.away == 0 {
            if !self.terminal.is_entered() {
                inner.painter.forget();
            }
            let bytes = inner.painter.clear();
            self.terminal.paint(&bytes, false, 0);
            self.terminal.leave();
        }
        self.terminal.leave_title();
        // Waiting callers learn that there will be no answer, and owners that their components are gone.
        let stage = std::mem::take(&mut inner.stage);
        self.happenings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.waker.wake();
        self.changed.notify_all();
        drop(inner);
        drop(stage);
    }
}

/// Closes the screen if its thread panics: a component that panics ends the thread, and the screen cannot work without
/// it.
struct ClosesOnPanic<'a>(&'a Shared);

impl Drop for ClosesOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// The thread that paints.
fn paint(shared: &Shared) {
    let _closes = ClosesOnPanic(shared);
    let mut inner = shared.lock();
    while !inner.closed {
        let now = Instant::now();
        let size = inner.painter.size();
        if inner.stage.sweep(now, size) {
            inner.dirty = true;
        }
        let shown = inner.away == 0;
        let due = inner.painted_at + FRAME;
        if inner.dirty && shown && now >= due {
            shared.paint(&mut inner);
            continue;
        }
        let changes = inner.stage.changes_at(now);
        let wake = if inner.dirty && shown { Some(due) } else { changes };
        inner = match wake {
            Some(wake) => {
                let limit = wake.saturating_duration_since(Instant::now());
                let (mut inner, waited) = shared
                    .changed
                    .wait_timeout(inner, limit)
                    .unwrap_or_else(PoisonError::into_inner);
                inner.dirty |= waited.timed_out();
                inner
            }
            None => shared.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

/// The thread that reads.
fn read(shared: &Shared, mut ears: Ears, stop_key: Option<&str>) {
    let _closes = ClosesOnPanic(shared);
    let mut splitter = Splitter::default();
    let opened = Instant::now();
    let mut asked = true;
    loop {
        let limit = match splitter.waits() {
            Waits::ForRest => Some(ESCAPE_PAUSE),
            Waits::ForPaste => Some(PASTE_PAUSE),
            Waits::Nothing if asked => Some(KITTY_PAUSE.saturating_sub(opened.elapsed())),
            Waits::Nothing => None,
        };
        let arrived = ears.listen(&shared.terminal, limit);
        if asked && opened.elapsed() >= KITTY_PAUSE {
            asked = false;
            shared.terminal.speak_xterm();
        }
        let inputs = match arrived {
            Arrived::Bytes(bytes) => splitter.push(&bytes),
            Arrived::Nothing if splitter.waits() != Waits::Nothing => splitter.pause(),
            Arrived::Nothing => Vec::new(),
            Arrived::Woken => {
                take_back_after_panic(shared);
                Vec::new()
            }
            Arrived::Resized => {
                resized(shared);
                Vec::new()
            }
            Arrived::Continued => {
                let mut inner = shared.lock();
                // The shell has written something since.
                if inner.away == 0 && !inner.closed {
                    shared.take_back(&mut inner);
                }
                Vec::new()
            }
            Arrived::Ended => {
                shared.tell(Happening::Ended);
                return;
            }
        };
        for input in inputs {
            match input {
                Input::SpeaksKitty => {
                    shared.terminal.speak_kitty();
                    splitter.protocol = Protocol::Kitty;
                }
                Input::Key(key) if stop_key.is_none_or(|name| !key.is(name)) => take(shared, &key),
                Input::Key(key) if key.phase == Phase::Press => stop(shared, &mut ears),
                Input::Key(_) => {}
            }
        }
        if !park(shared) {
            return;
        }
    }
}

/// Waits while the terminal is borrowed. Returns whether the screen is still open.
fn park(shared: &Shared) -> bool {
    let mut inner = shared.lock();
    if inner.away > 0 && !inner.closed {
        inner.parked = true;
        shared.changed.notify_all();
        inner = shared
            .changed
            .wait_while(inner, |inner| inner.away > 0 && !inner.closed)
            .unwrap_or_else(PoisonError::into_inner);
        inner.parked = false;
    }
    !inner.closed
}

fn take_back_after_panic(shared: &Shared) {
    let mut inner = shared.lock();
    if inner.away == 0 && !inner.closed && !shared.terminal.is_entered() {
        shared.take_back(&mut inner);
    }
}

fn resized(shared: &Shared) {
    let size = shared.terminal.size();
    shared.change(|inner| inner.painter.resize(size));
    shared.tell(Happening::Resized(size));
}

fn take(shared: &Shared, key: &Key) {
    let mut inner = shared.lock();
    if inner.intercepting {
        shared.tell(Happening::Intercepted(key.clone()));
    } else {
        shared.press(&mut inner, key);
    }
}

/// Suspends the program, as the shell's Ctrl-Z would, with the terminal restored.
fn stop(shared: &Shared, ears: &mut Ears) {
    shared.give(&mut shared.lock());
    let _ = kill_current_process_group(Signal::TSTP);
    ears.wait_for_continue(RELEASE_TIMEOUT);
    shared.resume();
    shared.tell(Happening::Continued);
}

/// Restores the terminal before a panic is reported, so that it can be read.
fn give_back_on_panic(shared: Weak<Shared>) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let Some(shared) = shared.upgrade() else {
            return before(panic);
        };
        // A panic of another thread does not end the program. This one may hold the lock, so the reader takes the
        // terminal again.
        let ends = std::thread::current().name() == Some("main");
        shared.terminal.report(ends, || before(panic));
        shared.waker.wake();
    }));
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn a_text_is_written_for_the_clipboard() {
        let table = [
            ("", ""),
            ("a", "YQ=="),
            ("ab", "YWI="),
            ("abc", "YWJj"),
            ("ä?>", "w6Q/Pg=="),
        ];
        for (text, wanted) in table {
            assert_eq!(base64(text.as_bytes()), wanted, "{text}");
        }
    }
}
