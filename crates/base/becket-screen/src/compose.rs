//! The live area from top to bottom: the contents of each slot, and which component has the keys.

use std::time::{Duration, Instant};

use crate::component::{Area, Component, Taken, press};
use crate::dialog::{Dialog, NOT_YET};
use crate::editor::{Editor, KeyEffect};
use crate::keys::{Key, Phase};
use crate::live::{Frame, Size};
use crate::overlay::{Id, Overlays};
use crate::text::{TextRow, clip};

/// A slot of the live area that holds lines or a component. Listed from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    Header,
    /// Text that is not finished, and may still change as a whole.
    Pending,
    /// The last lines of what runs.
    Running,
    /// A widget above the editor, by its name. Widgets are shown in insertion order.
    Above(String),
    Below(String),
    /// The program's own footer, shown as long as nothing is in [`Slot::Footer`].
    OwnFooter,
    Footer,
}

/// The line that shows that work is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Working {
    pub message: String,
    /// Whether the message is followed by how long the work has taken so far.
    pub is_timed: bool,
    /// What stands behind the message and the time.
    pub note: String,
    /// The frames of the animation before the message; none means no mark.
    pub frames: Vec<String>,
    pub interval: Duration,
}

impl Working {
    /// A working line with the default animation.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_timed: false,
            note: String::new(),
            frames: "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".chars().map(String::from).collect(),
            interval: Duration::from_millis(80),
        }
    }
}

/// The role of a component in the editor's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Another editor: shortcuts work as in the default one.
    Editor,
    /// A modal component that has all keys until it is removed.
    Modal,
}

struct Standing {
    id: Id,
    role: Role,
    component: Box<dyn Component>,
}

/// What happened to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    Taken,
    /// The key was not handled.
    Left,
    Submitted(String),
}

/// How long after a key press the user still counts as typing.
const A_WORD: Duration = Duration::from_millis(500);

/// Everything in the live area.
#[derive(Default)]
pub(crate) struct Stage {
    pub editor: Editor,
    slots: Vec<(Slot, Id, Box<dyn Component>)>,
    working: Option<(Working, Instant)>,
    /// Since when questions wait for the user: work takes no time meanwhile.
    asked_at: Option<Instant>,
    statuses: Vec<(String, String)>,
    standing: Vec<Standing>,
    dialogs: Vec<Dialog>,
    pub overlays: Overlays,
    /// Keys that are reported before an editor gets them.
    pub shortcuts: Vec<String>,
    /// When the user last typed something that is not submitted yet.
    wrote_at: Option<Instant>,
}

impl Stage {
    /// Fills a slot, or empties it, and returns what was there. An existing widget keeps its place.
    pub fn set(
        &mut self,
        slot: Slot,
        id: Id,
        content: Option<Box<dyn Component>>,
    ) -> Option<Box<dyn Component>> {
        let there = self.slots.iter().position(|(other, ..)| *other == slot);
        match (there, content) {
            (Some(place), Some(content)) => {
                let (.., old) = std::mem::replace(&mut self.slots[place], (slot, id, content));
                Some(old)
            }
            (Some(place), None) => Some(self.slots.remove(place).2),
            (None, Some(content)) => {
                self.slots.push((slot, id, content));
                None
            }
            (None, None) => None,
        }
    }

    pub fn set_working(&mut self, working: Option<Working>) {
        let since = self
            .working
            .as_ref()
            .map_or_else(Instant::now, |(_, since)| *since);
        self.working = working.map(|working| (working, since));
    }

    /// Sets a text of the status line, by its name.
    pub fn set_status(&mut self, name: &str, text: Option<&str>) {
        let there = self.statuses.iter().position(|(other, _)| other == name);
        match (there, text) {
            (Some(place), Some(text)) => self.statuses[place].1 = text.to_string(),
            (Some(place), None) => drop(self.statuses.remove(place)),
            (None, Some(text)) => self.statuses.push((name.to_string(), text.to_string())),
            (None, None) => {}
        }
    }

    /// Puts a component in the editor's place, in front of others there.
    pub fn stand(&mut self, id: Id, role: Role, component: Box<dyn Component>) {
        let standing = Standing { id, role, component };
        match role {
            // An editor goes behind temporary components.
            Role::Editor => self.standing.insert(0, standing),
            Role::Modal => self.standing.push(standing),
        }
    }

    /// Shows a dialog, once those before it are answered.
    pub fn ask(&mut self, dialog: Dialog) {
        self.dialogs.push(dialog);
        self.asked_at.get_or_insert_with(Instant::now);
        self.overlays.release_focus();
    }

    /// Removes a component, wherever it is. Returns it, because it must not be dropped under the lock: it may hold
    /// others.
    pub fn remove(&mut self, id: Id, size: Size) -> Option<Box<dyn Component>> {
        if let Some(place) = self.standing.iter().position(|standing| standing.id == id) {
            return Some(self.standing.remove(place).component);
        }
        if let Some(place) = self.slots.iter().position(|(_, other, _)| *other == id) {
            return Some(self.slots.remove(place).2);
        }
        self.overlays.remove(id, size)
    }

    /// Removes finished dialogs. Returns whether there were any.
    pub fn sweep(&mut self, now: Instant, size: Size) -> bool {
        let before = self.dialogs.len();
        for dialog in &mut self.dialogs {
            dialog.look_at_clock(now);
        }
        self.dialogs.retain(|dialog| !dialog.is_over());
        if before > 0 && self.dialogs.is_empty() {
            self.overlays.regain_focus(size);
            let asked_at = self.asked_at.take().unwrap_or(now);
            if let Some((_, since)) = &mut self.working {
                *since += now.saturating_duration_since(asked_at.max(*since));
            }
        }
        before != self.dialogs.len()
    }

    /// Takes the text that the foremost dialog wants to be printed above it.
    pub fn take_printed(&mut self) -> Option<String> {
        self.dialogs.first_mut()?.take_printed()
    }

    /// The text field in which the user types: a dialog's, or the editor.
    pub fn text_field(&mut self) -> Option<&mut Editor> {
        match self.dialogs.first_mut() {
            Some(dialog) => dialog.text_field(),
            None if self.standing.is_empty() => Some(&mut self.editor),
            None => None,
        }
    }

    /// From when on keys are for the foremost dialog: it was seen, and the user has stopped typing.
    fn answers_from(&self) -> Option<Instant> {
        let seen = self.dialogs.first()?.answers_from()?;
        Some(self.wrote_at.map_or(seen, |at| seen.max(at + A_WORD)))
    }

    /// Passes a key to the component with the focus.
    pub fn press(&mut self, key: &Key, size: Size) -> Pressed {
        let answers_from = self.answers_from();
        if answers_from.is_none_or(|from| Instant::now() < from) {
            if let Some(component) = self.overlays.focused(size) {
                return told(press(component.as_mut(), key));
            }
        } else if let Some(dialog) = self.dialogs.first_mut() {
            return match key.phase {
                Phase::Release => Pressed::Taken,
                _ => told(dialog.input_key(key)),
            };
        }
        let modal = self
            .standing
            .last()
            .is_some_and(|standing| standing.role == Role::Modal);
        let shortcut = self.shortcuts.iter().any(|name| key.is(name));
        if !modal && shortcut && key.phase != Phase::Release {
            return Pressed::Left;
        }
        if let Some(standing) = self.standing.last_mut() {
            if standing.role == Role::Editor {
                self.wrote_at = key.text.is_some().then(Instant::now);
            }
            return told(press(standing.component.as_mut(), key));
        }
        if key.phase == Phase::Release {
            return Pressed::Taken;
        }
        let outcome = self.editor.key(key);
        // Text that is being typed when a question appears is not meant for it, nor is what follows its Enter.
        let writes = outcome == KeyEffect::Taken || !self.dialogs.is_empty();
        self.wrote_at = writes.then(Instant::now);
        match outcome {
            KeyEffect::Ignored => Pressed::Left,
            KeyEffect::Taken => Pressed::Taken,
            KeyEffect::Submitted(text) => Pressed::Submitted(text),
        }
    }

    /// The rows of the live area, below the unfinished line of the stream.
    pub fn render(&mut self, unfinished: Vec<TextRow>, size: Size) -> Frame {
        let overlaid = self.overlays.focused(size).is_some();
        let area = Area {
            width: size.columns,
            height: size.rows,
            focused: false,
        };
        let mut rows = unfinished;
        self.slot_rows(|slot| *slot == Slot::Header, area, &mut rows);
        self.pending_rows(area, &mut rows);
        self.slot_rows(|slot| *slot == Slot::Running, area, &mut rows);
        if let Some((working, since)) = &self.working {
            let now = self.asked_at.unwrap_or_else(Instant::now);
            let elapsed = now.saturating_duration_since(*since);
            rows.push(working_row(working, elapsed, size.columns));
        }
        self.slot_rows(|slot| matches!(slot, Slot::Above(_)), area, &mut rows);
        let focused = Area {
            focused: !overlaid,
            ..area
        };
        add(self.place_lines(focused), size.columns, &mut rows);
        self.slot_rows(|slot| matches!(slot, Slot::Below(_)), area, &mut rows);
        let footer = match self.slots.iter().any(|(slot, ..)| *slot == Slot::Footer) {
            true => Slot::Footer,
            false => Slot::OwnFooter,
        };
        self.slot_rows(|slot| *slot == footer, area, &mut rows);
        if !self.statuses.is_empty() {
            let texts: Vec<&str> = self.statuses.iter().map(|(_, text)| text.as_str()).collect();
            add(vec![texts.join("  ").replace('\n', " ")], size.columns, &mut rows);
        }
        Frame { rows }
    }

    /// The lines of the component in the editor's place.
    fn place_lines(&mut self, area: Area) -> Vec<String> {
        if let Some(dialog) = self.dialogs.first_mut() {
            let now = Instant::now();
            dialog.see(now);
            let is_early = self.answers_from().is_some_and(|from| now < from);
            return self.dialogs[0].render(area, is_early.then_some(NOT_YET));
        }
        if let Some(standing) = self.standing.last_mut() {
            return standing.component.render(area);
        }
        let mut lines = self.editor.render(area);
        lines.extend(self.editor.render_offer(area));
        lines
    }

    /// Unfinished text looks as it will in the scrollback.
    fn pending_rows(&mut self, area: Area, rows: &mut Vec<TextRow>) {
        let pending = self.slots.iter_mut().filter(|(slot, ..)| *slot == Slot::Pending);
        for (_, _, component) in pending {
            let lines = component.render(area);
            let lines = lines.iter().flat_map(|line| line.split('\n'));
            rows.extend(lines.flat_map(|line| TextRow::read(line).wrapped_hanging(area.width)));
        }
    }

    fn slot_rows(&mut self, wanted: impl Fn(&Slot) -> bool, area: Area, rows: &mut Vec<TextRow>) {
        for (_, _, component) in self.slots.iter_mut().filter(|(slot, ..)| wanted(slot)) {
            let mut lines = Vec::new();
            add(component.render(area), area.width, &mut lines);
            // Only the component with the keys has the cursor.
            lines.iter_mut().for_each(|row| row.cursor = None);
            rows.append(&mut lines);
        }
    }

    /// When something changes by itself.
    pub fn changes_at(&self, now: Instant) -> Option<Instant> {
        let moving = self.working.as_ref().filter(|_| self.asked_at.is_none());
        let working = moving.and_then(|(working, since)| {
            let frame = (working.frames.len() > 1).then(|| working.interval.max(Duration::from_millis(16)));
            let second =
                || Duration::from_secs(1) - Duration::from_nanos(since.elapsed().subsec_nanos().into());
            Some(now + frame.or_else(|| working.is_timed.then(second))?)
        });
        let dialogs = self.dialogs.iter().filter_map(|dialog| dialog.changes_at(now));
        let answers = self.answers_from().filter(|from| *from > now);
        let standing = self.standing.iter().map(|standing| standing.component.as_ref());
        let slots = self.slots.iter().map(|(_, _, component)| component.as_ref());
        let components = standing.chain(slots).chain(self.overlays.components());
        let components = components.filter_map(|component| component.changes_at(now));
        working
            .into_iter()
            .chain(dialogs)
            .chain(answers)
            .chain(components)
            .min()
    }
}

fn told(taken: Taken) -> Pressed {
    match taken {
        Taken::Yes => Pressed::Taken,
        Taken::No => Pressed::Left,
    }
}

fn working_row(working: &Working, elapsed: Duration, width: usize) -> TextRow {
    let count = working.frames.len() as u128;
    let frame = elapsed.as_millis() / working.interval.as_millis().max(1);
    let mark = frame
        .checked_rem(count)
        .and_then(|frame| working.frames.get(frame as usize));
    let mark = mark.map_or_else(String::new, |mark| format!("{mark} "));
    let time = match working.is_timed {
        true => format!(" {}", in_words(elapsed)),
        false => String::new(),
    };
    let line = format!("{mark}{}{time}{}", working.message, working.note);
    TextRow::read(&clip(&line.replace('\n', " "), width))
}

/// A time as a reader counts it: `7 s`, `2 min 5 s`, `1 h 3 min`.
pub fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=59 => format!("{seconds} s"),
        seconds @ 60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn add(lines: Vec<String>, width: usize, rows: &mut Vec<TextRow>) {
    let lines = lines.iter().flat_map(|line| line.split('\n'));
    rows.extend(lines.map(|line| TextRow::read(line).clipped(width)));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::dialog::{Question, Unanswered, Waiting};
    use crate::list::Entry;
    use crate::overlay::OverlayOptions;

    const SIZE: Size = Size {
        columns: 30,
        rows: 10,
    };

    /// A component that records the keys it gets.
    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<Vec<String>>>);

    impl Component for Listener {
        fn render(&mut self, area: Area) -> Vec<String> {
            vec![format!(
                "listener{}",
                if area.focused { crate::CURSOR_MARKER } else { "" }
            )]
        }

        fn input(&mut self, key: &Key) -> Taken {
            self.0.lock().expect("nobody panics").push(key.name.clone());
            Taken::Yes
        }
    }

    impl Listener {
        fn heard(&self) -> String {
            self.0.lock().expect("nobody panics").join(" ")
        }
    }

    fn overlay(stage: &mut Stage, id: Id, change: fn(&mut OverlayOptions)) -> Listener {
        let listener = Listener::default();
        let mut options = OverlayOptions::default();
        change(&mut options);
        stage.overlays.add(id, Box::new(listener.clone()), options);
        listener
    }

    fn press(stage: &mut Stage, names: &str) {
        for name in names.split_whitespace() {
            stage.press(&Key::read(name), SIZE);
        }
    }

    fn lines(stage: &mut Stage) -> Vec<String> {
        let rows = stage.render(Vec::new(), SIZE).rows;
        rows.iter().map(|row| row.text().trim_end().to_string()).collect()
    }

    fn select(stage: &mut Stage) -> Waiting {
        let options = ["x", "y"].map(|label| Entry {
            label: label.into(),
            ..Entry::default()
        });
        let (dialog, waiting) = Dialog::select(Question::new("which?"), options.to_vec());
        stage.ask(dialog);
        waiting
    }

    #[test]
    fn slots_stand_in_their_order() {
        let mut stage = Stage::default();
        let line = |text: &str| Some(Box::new(vec![text.to_string()]) as Box<dyn Component>);
        stage.set_status("one", Some("status"));
        stage.set(Slot::Footer, 0, line("footer"));
        stage.set(Slot::Below("b".into()), 0, line("below"));
        stage.set(Slot::Above("a".into()), 0, line("first"));
        stage.set(Slot::Above("c".into()), 0, line("second\nof two"));
        stage.set(Slot::Running, 0, line("running"));
        stage.set(Slot::Pending, 0, line("pending"));
        stage.set(Slot::Header, 0, line("header"));
        stage.set_working(Some(Working {
            frames: Vec::new(),
            ..Working::new("working")
        }));
        stage.editor.set_text("text");
        stage.set(Slot::Above("a".into()), 0, line("FIRST"));
        let wanted = [
            "header", "pending", "running", "working", "FIRST", "second", "of two", "text", "below",
            "footer", "status",
        ];
        assert_eq!(lines(&mut stage), wanted);
        stage.set(Slot::Header, 0, None);
        stage.set_working(None);
        stage.set_status("one", None);
        assert_eq!(lines(&mut stage)[0], "pending");
    }

    #[test]
    fn the_own_footer_stands_where_there_is_no_other() {
        let mut stage = Stage::default();
        let line = |text: &str| Some(Box::new(vec![text.to_string()]) as Box<dyn Component>);
        stage.set(Slot::OwnFooter, 0, line("own"));
        stage.set(Slot::Footer, 7, line("of a guest"));
        assert_eq!(lines(&mut stage), ["", "of a guest"]);
        stage.remove(7, SIZE);
        assert_eq!(lines(&mut stage), ["", "own"]);
    }

    #[test]
    fn work_says_how_long_it_takes() {
        let working = Working {
            is_timed: true,
            note: ", 3 tokens".into(),
            frames: Vec::new(),
            ..Working::new("at it")
        };
        for (seconds, wanted) in [(7, "at it 7 s, 3 tokens"), (125, "at it 2 min 5 s, 3 tokens")] {
            assert_eq!(
                working_row(&working, Duration::from_secs(seconds), 40).text(),
                wanted
            );
        }
        assert_eq!(in_words(Duration::from_secs(3_800)), "1 h 3 min");
        assert_eq!(working_row(&working, Duration::ZERO, 5).text(), "at it");
    }

    #[test]
    fn work_takes_no_time_while_the_user_decides() {
        let mut stage = Stage::default();
        stage.set_working(Some(Working {
            is_timed: true,
            frames: Vec::new(),
            ..Working::new("at it")
        }));
        let waiting = select(&mut stage);
        let long = Duration::from_secs(100);
        let (_, since) = stage.working.as_mut().expect("it works");
        *since -= long + Duration::from_millis(100);
        stage.asked_at = stage.asked_at.map(|at| at - long);
        assert_eq!(lines(&mut stage)[0], "at it 0 s");
        assert_eq!(stage.changes_at(Instant::now()), None);
        drop(waiting);
        stage.sweep(Instant::now(), SIZE);
        assert_eq!(lines(&mut stage)[0], "at it 0 s");
    }

    #[test]
    fn the_foremost_overlay_has_the_keys() {
        let mut stage = Stage::default();
        let back = overlay(&mut stage, 1, |_| {});
        let front = overlay(&mut stage, 2, |_| {});
        let passive = overlay(&mut stage, 3, |options| options.non_capturing = true);
        let unseen = overlay(&mut stage, 4, |options| {
            options.visible = Some(Arc::new(|size| size.columns > 80))
        });
        press(&mut stage, "a");
        stage.overlays.hide(2, true, SIZE);
        press(&mut stage, "b");
        stage.overlays.hide(2, false, SIZE);
        press(&mut stage, "c");
        stage.overlays.focus(3, SIZE);
        press(&mut stage, "d");
        stage.overlays.unfocus(3, SIZE);
        press(&mut stage, "e");
        stage.overlays.focus(4, SIZE);
        stage.remove(2, SIZE);
        press(&mut stage, "f");
        stage.remove(1, SIZE);
        press(&mut stage, "g");
        assert_eq!((back.heard(), front.heard()), ("b f".into(), "a c e".into()));
        assert_eq!((passive.heard(), unseen.heard()), ("d".into(), String::new()));
        assert_eq!(stage.editor.text(), "g");
    }

    #[test]
    fn an_overlay_has_the_keys_again_when_it_is_seen_again() {
        const NARROW: Size = Size { columns: 20, ..SIZE };
        let mut stage = Stage::default();
        let back = overlay(&mut stage, 1, |_| {});
        let wide = overlay(&mut stage, 2, |options| {
            options.visible = Some(Arc::new(|size| size.columns > 20))
        });
        press(&mut stage, "a");
        for name in ["b", "c"] {
            stage.render(Vec::new(), NARROW);
            stage.press(&Key::read(name), NARROW);
        }
        assert!(!stage.overlays.has_focus(2, NARROW) && stage.overlays.has_focus(2, SIZE));
        press(&mut stage, "d");
        assert_eq!((back.heard(), wide.heard()), ("b c".into(), "a d".into()));
    }

    #[test]
    fn what_is_not_finished_is_wrapped() {
        let mut stage = Stage::default();
        let text = "words that are wider than the screen is".to_owned();
        stage.set(Slot::Pending, 0, Some(Box::new(vec![text])));
        let wanted = ["words that are wider than the", "screen is", ""];
        assert_eq!(lines(&mut stage), wanted);
    }

    #[test]
    fn a_dialog_has_the_keys_when_it_can_be_seen_and_the_next_one_waits() {
        let mut stage = Stage::default();
        let over = overlay(&mut stage, 1, |_| {});
        let mut first = select(&mut stage);
        let mut second = select(&mut stage);
        press(&mut stage, "a");
        assert_eq!(stage.editor.text(), "a", "nobody had seen the question");
        lines(&mut stage);
        press(&mut stage, "b");
        assert_eq!(stage.editor.text(), "ab", "the user is still writing");
        stage.wrote_at = None;
        press(&mut stage, "y");
        stage.press(&Key::read("\r"), SIZE);
        stage.sweep(Instant::now(), SIZE);
        assert_eq!(first.try_recv(), Ok(Ok(crate::dialog::DialogAnswer::Chosen(1))));
        lines(&mut stage);
        stage.press(&Key::read("\x1b"), SIZE);
        stage.sweep(Instant::now(), SIZE);
        assert_eq!(second.try_recv(), Ok(Err(Unanswered::Cancelled)));
        press(&mut stage, "z");
        assert_eq!(over.heard(), "z");
    }

    #[test]
    fn an_unexpected_question_takes_no_key_that_was_on_its_way() {
        let mut stage = Stage::default();
        let asked = Question::new("run it?").unexpected();
        let (dialog, mut waiting) = Dialog::confirm(asked, true);
        stage.ask(dialog);
        assert!(lines(&mut stage).contains(&NOT_YET[..SIZE.columns].to_owned()));
        press(&mut stage, "y");
        stage.press(&Key::read("\r"), SIZE);
        stage.wrote_at = None;
        press(&mut stage, "n");
        assert_eq!(stage.editor.text(), "n", "the question was too new");
        stage.dialogs[0].see_earlier(Duration::from_millis(500));
        press(&mut stage, "y");
        assert_eq!(stage.editor.text(), "ny", "the user is still writing");
        stage.wrote_at = None;
        stage.press(&Key::pasted("y\n"), SIZE);
        assert!(waiting.try_recv().is_err(), "a paste is no answer");
        assert!(!lines(&mut stage).iter().any(|line| line.contains("goes into")));
        press(&mut stage, "n");
        assert_eq!(
            waiting.try_recv(),
            Ok(Ok(crate::dialog::DialogAnswer::Confirmed(false)))
        );
    }

    #[test]
    fn an_excerpt_shows_as_much_as_there_is_room_for_and_all_of_it_on_demand() {
        const TALL: Size = Size { rows: 24, ..SIZE };
        let mut stage = Stage::default();
        let lines: Vec<String> = (1..=40).map(|number| format!("line {number}")).collect();
        let asked = Question::new("write file").message("why").excerpt(lines, 15);
        let (dialog, _waiting) = Dialog::confirm(asked, false);
        stage.ask(dialog);
        let rows = |stage: &mut Stage, size| -> Vec<String> {
            let rows = stage.render(Vec::new(), size).rows;
            rows.iter().map(|row| row.text().trim_end().to_string()).collect()
        };
        let seen = rows(&mut stage, TALL);
        assert_eq!(
            (seen[1].as_str(), seen[2].as_str(), seen[3].as_str()),
            ("write file", "why", "line 1")
        );
        assert!(seen.len() < TALL.rows, "the title is seen: {seen:?}");
        assert!(
            seen.contains(&"line 9".into()) && !seen.contains(&"line 10".into()),
            "{seen:?}"
        );
        // A row that is too long for the screen is cut.
        assert_eq!(seen[12], "… 31 more lines; Ctrl+O shows");
        let wide = rows(
            &mut stage,
            Size {
                columns: 80,
                rows: 60,
            },
        );
        assert!(
            wide.contains(&"line 15".into()) && !wide.contains(&"line 16".into()),
            "{wide:?}"
        );
        stage.press(&Key::read("\x0f"), TALL);
        let printed = stage.take_printed().expect("all of it");
        assert!(
            printed.starts_with("write file\nline 1\n") && printed.ends_with("line 40"),
            "{printed}"
        );
        assert_eq!(stage.take_printed(), None);
    }

    #[test]
    fn a_terminal_that_becomes_smaller_keeps_the_title_of_a_question() {
        const TALL: Size = Size { rows: 30, ..SIZE };
        const LOW: Size = Size { rows: 16, ..SIZE };
        let mut stage = Stage::default();
        let message: Vec<String> = (1..=15).map(|number| format!("line {number}")).collect();
        let asked = Question::new("sure?").message(message.join("\n"));
        let (dialog, _waiting) = Dialog::confirm(asked, false);
        stage.ask(dialog);
        let rows = |stage: &mut Stage, size| -> Vec<String> {
            let rows = stage.render(Vec::new(), size).window(size.rows).rows;
            rows.iter().map(|row| row.text().trim_end().to_string()).collect()
        };
        assert!(rows(&mut stage, TALL).contains(&"line 15".into()));
        let low = rows(&mut stage, LOW);
        assert_eq!(
            low[1..6],
            ["sure?", "line 1", "line 2", "line 3", "… Ctrl+O shows all"]
        );
        assert!(low.contains(&"→ No".into()), "{low:?}");
        stage.press(&Key::read("\x0f"), LOW);
        let printed = stage.take_printed().expect("all of it");
        assert_eq!(printed, format!("sure?\n{}", message.join("\n")));
        assert!(rows(&mut stage, TALL).contains(&"line 15".into()));
    }

    #[test]
    fn a_question_nobody_waits_for_goes() {
        let mut stage = Stage::default();
        drop(select(&mut stage));
        assert!(stage.sweep(Instant::now(), SIZE));
        assert_eq!(lines(&mut stage), [""]);
        let (dialog, mut waiting) =
            Dialog::confirm(Question::new("?").timeout(Duration::from_secs(5)), false);
        stage.ask(dialog);
        let now = Instant::now();
        let changes = stage.changes_at(now).expect("the seconds are counted");
        assert!(changes > now && changes <= now + Duration::from_secs(1));
        stage.sweep(now + Duration::from_secs(6), SIZE);
        assert_eq!(waiting.try_recv(), Ok(Err(Unanswered::TimedOut)));
    }

    #[test]
    fn an_editor_of_another_make_leaves_shortcuts_and_a_modal_does_not() {
        let mut stage = Stage {
            shortcuts: vec!["ctrl+p".into()],
            ..Stage::default()
        };
        let editor = Listener::default();
        stage.stand(7, Role::Editor, Box::new(editor.clone()));
        assert_eq!(stage.press(&Key::read("\x10"), SIZE), Pressed::Left);
        press(&mut stage, "a");
        let modal = Listener::default();
        stage.stand(8, Role::Modal, Box::new(modal.clone()));
        assert_eq!(stage.press(&Key::read("\x10"), SIZE), Pressed::Taken);
        assert!(stage.text_field().is_none());
        assert!(stage.render(Vec::new(), SIZE).cursor().is_some());
        stage.remove(8, SIZE);
        press(&mut stage, "b");
        assert_eq!((editor.heard(), modal.heard()), ("a b".into(), "ctrl+p".into()));
        // Releases are passed on only if the component wants them.
        stage.press(&Key::read("\x1b[97;1:3u"), SIZE);
        assert_eq!(editor.heard(), "a b");
    }
}
