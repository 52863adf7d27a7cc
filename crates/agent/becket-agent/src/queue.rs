//! What is said to the model while it is at work, by the person and by others: it waits here until the loop takes it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use becket_events::{InputSource, NoteDraft};
use tokio::sync::Notify;

use crate::run::Input;

/// Something for the model to hear.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Words, as the person would say them.
    Words(Input),
    /// Words in which, whoever says them, a name of the shelf stands for what lies there.
    Line(Input),
    /// A note.
    Note(NoteDraft),
}

/// When the model hears what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as the tools of its current answer have run.
    Steering,
    /// When everything is answered, in the same run; where nothing runs it begins one.
    FollowUp,
    /// Right after the next prompt, whoever gives it.
    NextPrompt,
    /// A note that causes nothing: it becomes part of the conversation when the turn is over. Words come with the next
    /// prompt.
    Aside,
}

/// How much of what waits the model hears at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// What was said first.
    One,
    /// Everything.
    All,
}

/// What becomes of something that is said while nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenIdle {
    /// It begins a run.
    Run,
    /// A note becomes part of the conversation, and nothing runs.
    Keep,
    /// It waits until something else begins a run, and is heard there when it would have been.
    Hold,
}

/// What waits for the model. Cloning gives another handle to the same queues.
#[derive(Debug, Clone, Default)]
pub struct Queues(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// There may be a wish. One front end waits for it.
    changed: Notify,
    /// Nothing runs any more. Anybody may wait for it.
    rested: Notify,
}

#[derive(Debug)]
struct Waiting {
    steering_pace: Pace,
    follow_up_pace: Pace,
    steering: VecDeque<Said>,
    follow_ups: VecDeque<Said>,
    /// What begins nothing: it waits in both ways for the next run.
    held: Held,
    with_next: Vec<Said>,
    /// Notes that become part of the conversation without a run.
    notes: Vec<NoteDraft>,
    work: Work,
}

/// What waits to be heard in the next run, in its first turn and when everything is answered.
#[derive(Debug, Default)]
struct Held {
    steering: VecDeque<Said>,
    follow_ups: VecDeque<Said>,
}

/// How far the session is with its work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Work {
    /// There is none.
    #[default]
    Rests,
    /// It begins or ends: hooks hear what is to run, or that nothing is left. For whoever speaks now nothing runs.
    Begins,
    /// A summary is written, and nothing else runs.
    Compacts,
    /// Something runs.
    Runs,
}

impl Default for Waiting {
    /// Words in between are heard together, and each that waits for an answer gets one.
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

    /// The ways in which something waits, those first that are heard first.
    fn queues(&self) -> [(Delivery, &VecDeque<Said>); 4] {
        [
            (Delivery::Steering, &self.held.steering),
            (Delivery::Steering, &self.steering),
            (Delivery::FollowUp, &self.held.follow_ups),
            (Delivery::FollowUp, &self.follow_ups),
        ]
    }

    /// All that waits, in the order in which it is heard.
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
    /// Words that the model hears as soon as the tools of its current answer have run.
    pub fn steer(&self, text: impl Into<String>) {
        let words = words(text.into(), InputSource::Steering);
        self.say(words, Delivery::Steering, WhenIdle::Run);
    }

    /// Words that become the next prompt when everything is answered.
    pub fn follow_up(&self, text: impl Into<String>) {
        let words = words(text.into(), InputSource::FollowUp);
        self.say(words, Delivery::FollowUp, WhenIdle::Run);
    }

    /// Whether nothing waits that would run by itself.
    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Whether nothing waits, not even for a run that somebody else begins.
    pub(crate) fn is_silent(&self) -> bool {
        self.waiting().all().next().is_none()
    }

    /// The words of the person's that wait, and when they are heard.
    pub fn waiting_words(&self) -> Vec<(Delivery, String)> {
        let waiting = self.waiting();
        let said = waiting.all();
        let words =
            said.filter_map(|(delivery, said)| Some((delivery, said.words_of_the_person()?.to_owned())));
        words.collect()
    }

    /// Takes back what the person has said and nobody has heard yet. What others have said goes on waiting.
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

    /// Something is said. While nothing runs it begins a run, unless it waits for one or is only to be kept.
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

    /// All that waits, in the order in which it is heard.
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

    /// How much of what is said this way is heard at once. What comes with a prompt always comes together.
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

    /// The session is about to work, and hears by itself what is said from now on.
    pub(crate) fn begin_work(&self) {
        self.waiting().work = Work::Begins;
    }

    /// A summary is written while nothing runs.
    pub(crate) fn compact(&self) {
        self.waiting().work = Work::Compacts;
    }

    /// Something runs, which hears what has waited for it.
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

    /// What runs next. With nothing left, what is said from now on waits until the work is over, and is a wish then.
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

    /// What was said to be heard when everything is answered, if it is the person's or hooks may speak.
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

    /// The work came to a bad end. What still waits begins nothing: it is heard in the next run.
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

    /// Forgets what waits to be heard, and says how much that was.
    pub(crate) fn drop_waiting(&self) -> usize {
        self.waiting().take_all().count()
    }

    /// Forgets everything that waits: whom it was said to is not there any more.
    pub(crate) fn forget(&self) {
        let mut waiting = self.waiting();
        waiting.take_all().for_each(drop);
        waiting.held = Held::default();
        waiting.with_next.clear();
        waiting.notes.clear();
    }

    /// Whether something runs.
    pub(crate) fn is_running(&self) -> bool {
        self.waiting().work == Work::Runs
    }

    /// Whether nothing runs, and nothing that was said waits to.
    pub(crate) fn is_idle(&self) -> bool {
        let waiting = self.waiting();
        matches!(waiting.work, Work::Rests | Work::Begins) && waiting.is_empty()
    }

    /// Whether the session has nothing to do: what is asked for now must be attended to.
    pub(crate) fn is_resting(&self) -> bool {
        self.waiting().work == Work::Rests
    }

    /// Waits until the session has nothing to do and that holds as well.
    pub(crate) async fn rested(&self, and: impl Fn() -> bool) {
        loop {
            let mut rested = std::pin::pin!(self.0.rested.notified());
            // From here on nothing is missed.
            rested.as_mut().enable();
            if self.is_resting() && self.is_empty() && and() {
                return;
            }
            rested.await;
        }
    }

    /// Whether something is to be done while nothing runs.
    pub(crate) fn has_wish(&self) -> bool {
        let waiting = self.waiting();
        let is_quiet = waiting.is_empty() && waiting.notes.is_empty();
        waiting.work == Work::Rests && !is_quiet
    }

    /// Tells whoever waits that there may be a wish.
    pub(crate) fn tell(&self) {
        self.0.changed.notify_one();
    }

    /// Waits until there may be a wish.
    pub(crate) async fn told(&self) {
        self.0.changed.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let held = self.0.waiting.lock();
        held.expect("no panic happens while the queues are held")
    }
}

impl Said {
    /// What the person said, if it was the person.
    fn words_of_the_person(&self) -> Option<&str> {
        match self {
            Self::Words(input) if self.is_of_the_person() => Some(&input.text),
            _ => None,
        }
    }

    /// Whether the person said it, here or in another program.
    pub(crate) fn is_of_the_person(&self) -> bool {
        match self {
            Self::Words(input) | Self::Line(input) => {
                !matches!(input.source, InputSource::Hook | InputSource::Agent)
            }
            Self::Note(_) => false,
        }
    }

    /// Whether a name of the shelf in it stands for what lies there.
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
