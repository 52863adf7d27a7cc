//! Keys: the bytes of a terminal, split into sequences and named.
//!
//! A key is known twice: by the bytes that the terminal sent (`raw`, for components that parse sequences themselves)
//! and by its name (`ctrl+shift+p`, `alt+enter`, `pageUp`), for shortcuts and the editor.
//!
//! Ctrl-C and Ctrl-D are keys like any other and mean what the program says.

/// Whether a key was pressed, repeated or released. Terminals without the kitty protocol only report presses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Press,
    Repeat,
    Release,
}

/// A key that was pressed, or a text that was pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// What the terminal sent. A paste stands between its brackets (`ESC[200~` and `ESC[201~`).
    pub raw: String,
    /// The key's name, empty if it has none: modifiers in the order ctrl, shift, alt, super.
    pub name: String,
    /// The text that the key types, if any.
    pub text: Option<String>,
    /// The pasted text, if this is a paste.
    pub paste: Option<String>,
    pub phase: Phase,
}

impl Key {
    /// Parses one sequence as a terminal without the kitty protocol sends it.
    pub fn read(raw: &str) -> Self {
        Self::read_as(raw, Protocol::Legacy)
    }

    fn read_as(raw: &str, protocol: Protocol) -> Self {
        let (chord, phase) = read_chord(raw, protocol);
        let text = chord.as_ref().and_then(Chord::text);
        Self {
            raw: raw.to_string(),
            name: chord.as_ref().map(Chord::name).unwrap_or_default(),
            text,
            paste: None,
            phase,
        }
    }

    /// A pasted text.
    pub fn pasted(text: &str) -> Self {
        Self {
            raw: format!("{PASTE_BEGINS}{text}{PASTE_ENDS}"),
            name: String::new(),
            text: None,
            paste: Some(text.to_string()),
            phase: Phase::Press,
        }
    }

    /// Whether this is the key with this name. Modifiers may be in any order.
    pub fn is(&self, name: &str) -> bool {
        let wanted = normalised(name);
        let also = match self.raw.as_str() {
            "\x1bb" => "alt+left",
            "\x1bf" => "alt+right",
            "\x1bp" => "alt+up",
            "\x1bn" => "alt+down",
            _ => "",
        };
        !wanted.is_empty() && (self.name == wanted || also == wanted)
    }
}

/// A key's name with its modifiers in the usual order.
pub fn normalised(name: &str) -> String {
    // The last part may be the plus key itself.
    let (modifiers, base) = match name.strip_suffix("++") {
        Some(modifiers) => (modifiers, "+"),
        None if name == "+" => ("", "+"),
        None => name.rsplit_once('+').unwrap_or(("", name)),
    };
    let has = |modifier: &str| {
        modifiers
            .split('+')
            .any(|part| part.eq_ignore_ascii_case(modifier))
    };
    let base = match base.to_ascii_lowercase().as_str() {
        "esc" => "escape".to_string(),
        "return" => "enter".to_string(),
        "pageup" => "pageUp".to_string(),
        "pagedown" => "pageDown".to_string(),
        lower => lower.to_string(),
    };
    let names = ["ctrl", "shift", "alt", "super"];
    let mut parts: Vec<&str> = names.into_iter().filter(|modifier| has(modifier)).collect();
    parts.push(&base);
    parts.join("+")
}

/// The protocol by which the terminal sends keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    #[default]
    Legacy,
    Kitty,
}

/// What was read from a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    /// The terminal reports that it speaks the kitty protocol.
    SpeaksKitty,
}

const PASTE_BEGINS: &str = "\x1b[200~";
const PASTE_ENDS: &str = "\x1b[201~";

/// Splits bytes into keys, wherever the reads happened to cut them.
#[derive(Debug, Default)]
pub struct Splitter {
    waiting: Vec<u8>,
    pasting: bool,
    /// How much of a paste was searched for its end.
    searched: usize,
    /// The keyboard protocol: some sequences mean something else with the kitty protocol.
    pub protocol: Protocol,
}

impl Splitter {
    /// Takes bytes, and returns the complete keys.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.waiting.extend_from_slice(bytes);
        let mut inputs = Vec::new();
        loop {
            if self.pasting {
                // A long paste comes in many pieces; each is searched once.
                let from = self.searched.saturating_sub(PASTE_ENDS.len());
                let Some(end) = find(&self.waiting[from..], PASTE_ENDS.as_bytes()) else {
                    self.searched = self.waiting.len();
                    return inputs;
                };
                let end = from + end;
                self.searched = 0;
                let paste: Vec<u8> = self.waiting.drain(..end + PASTE_ENDS.len()).collect();
                inputs.push(pasted(&paste[..end]));
                self.pasting = false;
            }
            let Some(length) = length(&self.waiting) else {
                return inputs;
            };
            let sequence: Vec<u8> = self.waiting.drain(..length).collect();
            self.pasting = sequence == PASTE_BEGINS.as_bytes();
            if !self.pasting {
                inputs.extend(read(&sequence, self.protocol));
            }
        }
    }

    /// Called after a pause in the input: incomplete bytes are all that will come.
    pub fn pause(&mut self) -> Vec<Input> {
        let rest = std::mem::take(&mut self.waiting);
        self.searched = 0;
        if std::mem::take(&mut self.pasting) {
            return vec![pasted(&rest)];
        }
        if rest == b"\x1b[" || rest == b"\x1bO" {
            return read(&rest, self.protocol).into_iter().collect();
        }
        let Some((b'\x1b', behind)) = rest.split_first() else {
            return Vec::new();
        };
        let mut inputs = vec![Input::Key(Key::read("\x1b"))];
        inputs.extend(self.push(behind));
        inputs.extend(match self.waits() {
            Waits::Nothing => Vec::new(),
            _ => self.pause(),
        });
        inputs
    }

    /// What the splitter waits for.
    pub fn waits(&self) -> Waits {
        match (self.pasting, self.waiting.is_empty()) {
            (true, _) => Waits::ForPaste,
            (false, false) => Waits::ForRest,
            (false, true) => Waits::Nothing,
        }
    }
}

/// What a splitter waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    Nothing,
    /// The rest of a sequence, unless it is a lone Escape.
    ForRest,
    /// The end of a paste.
    ForPaste,
}

fn pasted(bytes: &[u8]) -> Input {
    let text = String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    Input::Key(Key::pasted(&text))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The length of the first sequence in bytes; `None` as long as it is incomplete.
fn length(bytes: &[u8]) -> Option<usize> {
    let (first, rest) = bytes.split_first()?;
    match first {
        0x1b => match rest.first()? {
            b'[' => control_length(bytes),
            b'O' => (rest.len() >= 2).then_some(3),
            b']' | b'P' | b'^' | b'_' | b'X' => string_length(bytes),
            // Escape and then a key that is a sequence itself: both held, or one after the other.
            0x1b => match rest.get(1)? {
                b'[' | b'O' => length(rest).map(|length| length + 1),
                _ => Some(1),
            },
            _ => length(rest).map(|length| length + 1),
        },
        0xc2..=0xdf => (bytes.len() >= 2).then_some(2),
        0xe0..=0xef => (bytes.len() >= 3).then_some(3),
        0xf0..=0xf4 => (bytes.len() >= 4).then_some(4),
        _ => Some(1),
    }
}

fn control_length(bytes: &[u8]) -> Option<usize> {
    let body = &bytes[2..];
    match body.first()? {
        // The oldest mouse protocol: three bytes follow.
        b'M' => (body.len() >= 4).then_some(6),
        // The function keys of a Linux console: `ESC[[A`.
        b'[' => (body.len() >= 2).then_some(4),
        _ => {
            let middle = body
                .iter()
                .take_while(|byte| (0x20..=0x3f).contains(*byte))
                .count();
            // rxvt ends keys with Shift in `$`, which is none of the usual ends.
            let digits = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 && body.get(digits) == Some(&b'$') {
                return Some(3 + digits);
            }
            // A byte that cannot be in a sequence ends it, so that nothing waits for ever.
            body.get(middle)
                .map(|last| 2 + middle + usize::from((0x40..=0x7e).contains(last)))
        }
    }
}

fn string_length(bytes: &[u8]) -> Option<usize> {
    let bell = bytes.iter().position(|byte| *byte == 7).map(|place| place + 1);
    let end = find(bytes, b"\x1b\\").map(|place| place + 2);
    bell.into_iter().chain(end).min()
}

fn read(sequence: &[u8], protocol: Protocol) -> Option<Input> {
    let raw = std::str::from_utf8(sequence).ok()?;
    if let Some(report) = raw.strip_prefix("\x1b[?") {
        let flags = report.strip_suffix('u');
        return flags
            .is_some_and(|flags| flags.parse::<u32>().is_ok())
            .then_some(Input::SpeaksKitty);
    }
    let ignored = ["\x1b[<", "\x1b[M", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX"];
    let answers = raw.starts_with("\x1b[") && raw.ends_with('t');
    let focus = raw == "\x1b[I" || raw == "\x1b[O";
    if answers || focus || ignored.iter().any(|start| raw.starts_with(start)) {
        return None;
    }
    Some(Input::Key(Key::read_as(raw, protocol)))
}

const SHIFT: u32 = 1;
const ALT: u32 = 2;
const CTRL: u32 = 4;
const SUPER: u32 = 8;
/// Caps Lock and Num Lock, which are ignored as modifiers.
const LOCKS: u32 = 64 + 128;

/// A key with the modifiers that are held.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chord {
    modifiers: u32,
    base: String,
    /// The character that is typed, if the terminal reported it.
    written: Option<char>,
}

impl Chord {
    fn new(modifiers: u32, base: &str) -> Self {
        Self {
            modifiers,
            base: base.to_string(),
            written: None,
        }
    }

    /// The key that types a character.
    fn of(character: char) -> Self {
        let (modifiers, base) = match character {
            ' ' => (0, "space".to_string()),
            'A'..='Z' => (SHIFT, character.to_ascii_lowercase().to_string()),
            _ => (0, character.to_string()),
        };
        Self {
            modifiers,
            base,
            written: Some(character),
        }
    }

    fn with(mut self, modifiers: u32) -> Self {
        self.modifiers |= modifiers;
        self
    }

    fn name(&self) -> String {
        let mut name = String::new();
        for (bit, modifier) in [
            (CTRL, "ctrl+"),
            (SHIFT, "shift+"),
            (ALT, "alt+"),
            (SUPER, "super+"),
        ] {
            if self.modifiers & bit != 0 {
                name.push_str(modifier);
            }
        }
        name + &self.base
    }

    fn text(&self) -> Option<String> {
        let held = self.modifiers & !SHIFT;
        self.written.filter(|_| held == 0).map(String::from)
    }
}

fn read_chord(raw: &str, protocol: Protocol) -> (Option<Chord>, Phase) {
    if protocol == Protocol::Kitty && (raw == "\x1b\r" || raw == "\n") {
        // With the protocol on, these are what users map Shift+Enter to.
        return (Some(Chord::new(SHIFT, "enter")), Phase::Press);
    }
    if let Some(body) = raw.strip_prefix("\x1b[").filter(|body| !body.is_empty()) {
        return control_chord(body).map_or((None, Phase::Press), |(chord, phase)| (Some(chord), phase));
    }
    let letter = raw.strip_prefix("\x1bO").and_then(|rest| rest.chars().next());
    if let Some(chord) = letter.and_then(application_chord) {
        return (Some(chord), Phase::Press);
    }
    match raw.strip_prefix('\x1b') {
        Some("") => (Some(Chord::new(0, "escape")), Phase::Press),
        Some(rest) => {
            // Of several Escapes, the last one may begin a sequence, and the others mean the same.
            let plain = rest.trim_start_matches('\x1b').len();
            let last = rest.len().saturating_sub(plain + 1).min(rest.len() - plain);
            let (chord, phase) = read_chord(&rest[last..], protocol);
            (chord.map(|chord| chord.with(ALT)), phase)
        }
        None => (raw.chars().next().map(plain_chord), Phase::Press),
    }
}

/// The key for one character of input.
fn plain_chord(character: char) -> Chord {
    match character {
        '\t' => Chord::new(0, "tab"),
        '\r' => Chord::new(0, "enter"),
        '\x08' | '\x7f' => Chord::new(0, "backspace"),
        '\0' => Chord::new(CTRL, "space"),
        '\x1c' => Chord::new(CTRL, "\\"),
        '\x1d' => Chord::new(CTRL, "]"),
        '\x1e' => Chord::new(CTRL, "^"),
        '\x1f' => Chord::new(CTRL, "-"),
        '\x01'..='\x1a' => {
            let letter = char::from(character as u8 + b'a' - 1);
            Chord::new(CTRL, &letter.to_string())
        }
        _ => Chord::of(character),
    }
}

/// Keys of the application mode: `ESC O` and a letter.
fn application_chord(letter: char) -> Option<Chord> {
    match letter {
        'M' => Some(Chord::new(0, "enter")),
        'a'..='e' => lettered(letter.to_ascii_uppercase()).map(|base| Chord::new(CTRL, base)),
        _ => lettered(letter).map(|base| Chord::new(0, base)),
    }
}

fn lettered(letter: char) -> Option<&'static str> {
    Some(match letter {
        'A' => "up",
        'B' => "down",
        'C' => "right",
        'D' => "left",
        'E' => "clear",
        'F' => "end",
        'H' => "home",
        'P' => "f1",
        'Q' => "f2",
        'R' => "f3",
        'S' => "f4",
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<&'static str> {
    Some(match number {
        1 | 7 => "home",
        4 | 8 => "end",
        2 => "insert",
        3 => "delete",
        5 => "pageUp",
        6 => "pageDown",
        11 => "f1",
        12 => "f2",
        13 => "f3",
        14 => "f4",
        15 => "f5",
        17 => "f6",
        18 => "f7",
        19 => "f8",
        20 => "f9",
        21 => "f10",
        23 => "f11",
        24 => "f12",
        _ => return None,
    })
}

/// Parses what follows `ESC[`.
fn control_chord(body: &str) -> Option<(Chord, Phase)> {
    let last = body.chars().last()?;
    let inner = &body[..body.len() - last.len_utf8()];
    let press = |chord: Chord| Some((chord, Phase::Press));
    if let Some(old) = body.strip_prefix('[') {
        let place = "ABCDE".find(old)?;
        return press(Chord::new(0, ["f1", "f2", "f3", "f4", "f5"][place]));
    }
    let mut parts = inner.split(';');
    let first = parts.next().unwrap_or_default();
    let (modifiers, phase) = held(parts.next().unwrap_or_default());
    match last {
        'Z' => press(Chord::new(SHIFT, "tab")),
        'a'..='e' => press(Chord::new(SHIFT, lettered(last.to_ascii_uppercase())?)),
        'A'..='S' => Some((Chord::new(modifiers, lettered(last)?), phase)),
        '$' => press(Chord::new(SHIFT, numbered(inner.parse().ok()?)?)),
        '^' => press(Chord::new(CTRL, numbered(inner.parse().ok()?)?)),
        '@' => press(Chord::new(CTRL | SHIFT, numbered(inner.parse().ok()?)?)),
        // The xterm encoding of other keys: `27;modifiers;code~`.
        '~' if first == "27" => press(coded(parts.next()?.parse().ok()?, None, None, modifiers)?),
        '~' => Some((Chord::new(modifiers, numbered(first.parse().ok()?)?), phase)),
        'u' => {
            let mut codes = first.split(':').map(|code| code.parse::<u32>().ok());
            let code = codes.next()??;
            let shifted = codes.next().flatten();
            let layout = codes.next().flatten();
            Some((coded(code, shifted, layout, modifiers)?, phase))
        }
        _ => None,
    }
}

/// Modifiers and phase: `5`, `5:3`.
fn held(part: &str) -> (u32, Phase) {
    let (modifiers, event) = part.split_once(':').unwrap_or((part, ""));
    let modifiers = modifiers.parse::<u32>().unwrap_or(1).saturating_sub(1) & !LOCKS;
    let phase = match event {
        "2" => Phase::Repeat,
        "3" => Phase::Release,
        _ => Phase::Press,
    };
    (modifiers, phase)
}

/// A key by its code, as the kitty protocol and xterm report it.
fn coded(code: u32, shifted: Option<u32>, layout: Option<u32>, modifiers: u32) -> Option<Chord> {
    const KEYPAD: [&str; 10] = [
        "left", "right", "up", "down", "pageUp", "pageDown", "home", "end", "insert", "delete",
    ];
    const KEYPAD_SIGNS: &str = "0123456789./*-+";
    let named = |base: &str| Some(Chord::new(modifiers, base));
    match code {
        9 => return named("tab"),
        13 | 57414 => return named("enter"),
        27 => return named("escape"),
        8 | 127 => return named("backspace"),
        57399..=57413 => {
            let sign = KEYPAD_SIGNS.chars().nth((code - 57399) as usize)?;
            return Some(Chord::of(sign).with(modifiers));
        }
        57415 => return Some(Chord::of('=').with(modifiers)),
        57416 => return Some(Chord::of(',').with(modifiers)),
        57417..=57426 => return named(KEYPAD[(code - 57417) as usize]),
        // The rest of the private area are keys without a name here, such as the modifiers themselves.
        0..32 | 57344..=63743 => return None,
        _ => {}
    }
    let character = char::from_u32(code)?;
    let written = shifted
        .filter(|_| modifiers & SHIFT != 0)
        .and_then(char::from_u32);
    // On keyboards with other letters, shortcuts use the Latin key in the same place.
    let latin = layout.and_then(char::from_u32).filter(|_| !character.is_ascii());
    let mut chord = Chord::of(latin.unwrap_or(character)).with(modifiers);
    let upper = modifiers & SHIFT != 0 && character.is_ascii_lowercase();
    chord.written = Some(written.unwrap_or(if upper {
        character.to_ascii_uppercase()
    } else {
        character
    }));
    Some(chord)
}
