//! Messages to the model, by the user and by others: they wait here until the loop takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use becket_events::{InputSource, NoteDraft};
use tokio::sync::Notify;

use crate::input::Input;

/// A message to the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// A text, as the user would send it.
    Words(Input),
    /// A line in which the name of a prompt or skill is expanded, whoever sends it.
    Line(Input),
    /// A note.
    Note(NoteDraft),
}

/// When a message is delivered to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as the tools of the model's current answer have run.
    Steering,
    /// When everything is answered, in the same run; while nothing runs it begins one.
    FollowUp,
    /// Right after the next prompt, whoever gives it.
    NextPrompt,
    /// A note that causes no run: it becomes part of the conversation when the turn is over. A text comes with the next
    /// prompt.
    Aside,
}

/// How many of the waiting messages the model gets at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Only the oldest.
    One,
    /// All of them.
    All,
}

/// What happens to a message that arrives while nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenIdle {
    /// The message begins a run.
    Run,
    /// A note becomes part of the conversation, and nothing runs.
    Keep,
    /// The message waits until something else begins a run, and is delivered at its usual moment there.
    Hold,
}

/// The messages that wait for the model. Cloning gives another handle to the same queues.
#[derive(Debug, Clone, Default)]
pub struct Queues(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// There may be something to do. One front end waits for this.
    changed: Notify,
    /// Nothing runs any more. Any number of tasks may wait for this.
    rested: Notify,
}

#[derive(Debug)]
struct Waiting {
    steering_pace: Pace,
    follow_up_pace: Pace,
    steering: VecDeque<Said>,
    follow_ups: VecDeque<Said>,
    /// Messages that begin no run: they wait for the next one.
    held: Held,
    with_next: Vec<Said>,
    /// Notes that become part of the conversation without a run.
    notes: Vec<NoteDraft>,
    work: Work,
}

/// Messages that wait for the next run, for its first turn and for when everything is answered.
#[derive(Debug, Default)]
struct Held {
    steering: VecDeque<Said>,
    follow_ups: VecDeque<Said>,
}

/// The state of the session's work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Work {
    /// There is no work.
    #[default]
    Rests,
    /// Work begins or ends: hooks are told what is to run, or that nothing is left. To others nothing runs yet.
    Begins,
    /// A summary is written, and nothing else runs.
    Compacts,
    /// Something runs.
    Runs,
}

impl Default for Waiting {
    /// By default all steering messages are delivered together, and each follow-up gets its own answer.
    fn default() -> Self {
        Self {
            steering_pace: Pace::All,
            follow_up_pace: Pace::One,
            steering: VecDeque::new(),
            follow_ups: VecDeque::new(),
            held: Held::default(),
            with_next: Vec::new(),
            notes: Vec::new(),
            work: Work::default(),
        }
    }
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_ups.is_empty()
    }

    /// The queues of waiting messages, in the order of delivery.
    fn queues(&self) -> [(Delivery, &VecDeque<Said>); 4] {
        [
            (Delivery::Steering, &self.held.steering),
            (Delivery::Steering, &self.steering),
            (Delivery::FollowUp, &self.held.follow_ups),
            (Delivery::FollowUp, &self.follow_ups),
        ]
    }

    /// All waiting messages, in the order of delivery.
    fn all(&self) -> impl Iterator<Item = (Delivery, &Said)> {
        let queues = self.queues().into_iter();
        queues.flat_map(|(delivery, queue)| queue.iter().map(move |said| (delivery, said)))
    }

    fn take_all(&mut self) -> impl Iterator<Item = Said> + use<> {
        let steering = std::mem::take(&mut self.steering);
        steering.into_iter().chain(std::mem::take(&mut self.follow_ups))
    }
}

impl Queues {
    /// Queues a text that the model gets as soon as the tools of its current answer have run.
    pub fn steer(&self, text: impl Into<String>) {
        let words = words(text.into(), InputSource::Steering);
        self.say(words, Delivery::Steering, WhenIdle::Run);
    }

    /// Queues a text that becomes the next prompt when everything is answered.
    pub fn follow_up(&self, text: impl Into<String>) {
        let words = words(text.into(), InputSource::FollowUp);
        self.say(words, Delivery::FollowUp, WhenIdle::Run);
    }

    /// Whether no message waits that would be run by itself.
    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Whether no message waits, not even for a run that something else begins.
    pub(crate) fn is_silent(&self) -> bool {
        self.waiting().all().next().is_none()
    }

    /// The user's texts that wait, and when each is delivered.
    pub fn waiting_words(&self) -> Vec<(Delivery, String)> {
        let waiting = self.waiting();
        let said = waiting.all();
        let words =
            said.filter_map(|(delivery, said)| Some((delivery, said.words_of_the_person()?.to_owned())));
        words.collect()
    }

    /// Takes back the user's texts that the model has not seen yet. The messages of others stay.
    pub fn take_back(&self) -> Vec<String> {
        let mut waiting = self.waiting();
        let Waiting {
            steering,
            follow_ups,
            held,
            ..
        } = &mut *waiting;
        let mut taken = Vec::new();
        for queue in [&mut held.steering, steering, &mut held.follow_ups, follow_ups] {
            queue.retain(|said| match said.words_of_the_person() {
                Some(words) => {
                    taken.push(words.to_owned());
                    false
                }
                None => true,
            });
        }
        taken
    }

    /// Queues a message. While nothing runs it begins a run, unless it waits for one or is only to be kept.
    pub(crate) fn say(&self, said: Said, delivery: Delivery, when_idle: WhenIdle) {
        let mut waiting = self.waiting();
        let is_idle = waiting.work != Work::Runs;
        let keeps = is_idle && when_idle == WhenIdle::Keep;
        let holds = is_idle && when_idle == WhenIdle::Hold;
        match (delivery, said) {
            (Delivery::Aside, Said::Note(note)) => waiting.notes.push(note),
            (_, Said::Note(note)) if keeps && delivery != Delivery::NextPrompt => waiting.notes.push(note),
            (Delivery::NextPrompt | Delivery::Aside, said) => waiting.with_next.push(said),
            (Delivery::Steering, said) if holds => waiting.held.steering.push_back(said),
            (Delivery::FollowUp, said) if holds => waiting.held.follow_ups.push_back(said),
            (Delivery::Steering, said) => waiting.steering.push_back(said),
            (Delivery::FollowUp, said) => waiting.follow_ups.push_back(said),
        }
        drop(waiting);
        self.tell();
    }

    /// All waiting messages, in the order of delivery.
    pub(crate) fn all_waiting(&self) -> Vec<Said> {
        self.waiting().all().map(|(_, said)| said.clone()).collect()
    }

    pub(crate) fn has_steering(&self) -> bool {
        !self.waiting().steering.is_empty()
    }

    pub(crate) fn take_steering(&self) -> Vec<Said> {
        let mut waiting = self.waiting();
        let count = match waiting.steering_pace {
            Pace::One => waiting.steering.len().min(1),
            Pace::All => waiting.steering.len(),
        };
        waiting.steering.drain(..count).collect()
    }

    /// How many messages with this delivery the model gets at once. Those for the next prompt always come together.
    pub(crate) fn set_pace(&self, delivery: Delivery, pace: Pace) {
        let mut waiting = self.waiting();
        match delivery {
            Delivery::Steering => waiting.steering_pace = pace,
            Delivery::FollowUp => waiting.follow_up_pace = pace,
            Delivery::NextPrompt | Delivery::Aside => {}
        }
    }

    pub(crate) fn take_with_next(&self) -> Vec<Said> {
        std::mem::take(&mut self.waiting().with_next)
    }

    pub(crate) fn take_notes(&self) -> Vec<NoteDraft> {
        std::mem::take(&mut self.waiting().notes)
    }

    /// The session is about to work, and takes the messages from now on by itself.
    pub(crate) fn begin_work(&self) {
        self.waiting().work = Work::Begins;
    }

    /// A summary is being written while nothing runs.
    pub(crate) fn compact(&self) {
        self.waiting().work = Work::Compacts;
    }

    /// A run begins, and gets the messages that have waited for one.
    pub(crate) fn run(&self) {
        let mut waiting = self.waiting();
        let Held {
            mut steering,
            mut follow_ups,
        } = std::mem::take(&mut waiting.held);
        steering.append(&mut waiting.steering);
        follow_ups.append(&mut waiting.follow_ups);
        (waiting.steering, waiting.follow_ups) = (steering, follow_ups);
        waiting.work = Work::Runs;
    }

    /// Takes the next message to run. Once none is left, new ones wait until the work is over, and then count as a
    /// request.
    pub(crate) fn next(&self) -> Option<Said> {
        let mut waiting = self.waiting();
        waiting.work = Work::Begins;
        if let Some(steering) = waiting.steering.pop_front() {
            return Some(steering);
        }
        let next = waiting.follow_ups.pop_front();
        if waiting.follow_up_pace == Pace::All {
            let others = std::mem::take(&mut waiting.follow_ups);
            waiting.with_next.extend(others);
        }
        next
    }

    /// Takes the next follow-up, if it is the user's or hooks may send one.
    pub(crate) fn take_follow_up(&self, hooks_may: bool) -> Option<Said> {
        let mut waiting = self.waiting();
        let may = |said: &Said| hooks_may || said.is_of_the_person();
        let next = waiting.follow_ups.pop_front_if(|said| may(said));
        if next.is_some() && waiting.follow_up_pace == Pace::All {
            let others = std::mem::take(&mut waiting.follow_ups);
            waiting.with_next.extend(others);
        }
        next
    }

    /// The work is over.
    pub(crate) fn rest(&self) {
        self.waiting().work = Work::Rests;
        self.0.rested.notify_waiters();
        self.tell();
    }

    /// The work came to a bad end. The waiting messages begin nothing: they are delivered in the next run.
    pub(crate) fn hold(&self) {
        let mut waiting = self.waiting();
        let Waiting {
            steering,
            follow_ups,
            held,
            work,
            ..
        } = &mut *waiting;
        held.steering.append(steering);
        held.follow_ups.append(follow_ups);
        *work = Work::Begins;
    }

    /// Drops the waiting messages, and says how many there were.
    pub(crate) fn drop_waiting(&self) -> usize {
        self.waiting().take_all().count()
    }

    /// Drops everything that waits, since the session that it was meant for is gone.
    pub(crate) fn forget(&self) {
        let mut waiting = self.waiting();
        waiting.take_all().for_each(drop);
        waiting.held = Held::default();
        waiting.with_next.clear();
        waiting.notes.clear();
    }

    /// Whether a run is in progress.
    pub(crate) fn is_running(&self) -> bool {
        self.waiting().work == Work::Runs
    }

    /// Whether nothing runs, and no message waits to be run.
    pub(crate) fn is_idle(&self) -> bool {
        let waiting = self.waiting();
        matches!(waiting.work, Work::Rests | Work::Begins) && waiting.is_empty()
    }

    /// Whether the session has nothing to do: requests need an `attend` now.
    pub(crate) fn is_resting(&self) -> bool {
        self.waiting().work == Work::Rests
    }

    /// Waits until the session has nothing to do and the condition `and` holds.
    pub(crate) async fn rested(&self, and: impl Fn() -> bool) {
        loop {
            let mut rested = std::pin::pin!(self.0.rested.notified());
            // Enabled before the check, so that no notification between the check and the wait is missed.
            rested.as_mut().enable();
            if self.is_resting() && self.is_empty() && and() {
                return;
            }
            rested.await;
        }
    }

    /// Whether messages wait to be run or stored while nothing runs.
    pub(crate) fn has_request(&self) -> bool {
        let waiting = self.waiting();
        let is_quiet = waiting.is_empty() && waiting.notes.is_empty();
        waiting.work == Work::Rests && !is_quiet
    }

    /// Tells the waiting front end that there may be something to do.
    pub(crate) fn tell(&self) {
        self.0.changed.notify_one();
    }

    /// Waits until there may be something to do.
    pub(crate) async fn told(&self) {
        self.0.changed.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let held = self.0.waiting.lock();
        held.expect("no panic happens while the queues are held")
    }
}

impl Said {
    /// The text of the message, if it is the user's.
    fn words_of_the_person(&self) -> Option<&str> {
        match self {
            Self::Words(input) if self.is_of_the_person() => Some(&input.text),
            _ => None,
        }
    }

    /// Whether the message comes from the user, here or in another program.
    pub(crate) fn is_of_the_person(&self) -> bool {
        match self {
            Self::Words(input) | Self::Line(input) => {
                !matches!(input.source, InputSource::Hook | InputSource::Agent)
            }
            Self::Note(_) => false,
        }
    }

    /// Whether the name of a prompt or skill in the message is expanded.
    pub(crate) fn may_name(&self) -> bool {
        matches!(self, Self::Line(_)) || self.is_of_the_person()
    }
}

fn words(text: String, source: InputSource) -> Said {
    Said::Words(Input {
        text,
        images: Vec::new(),
        source,
    })
}
