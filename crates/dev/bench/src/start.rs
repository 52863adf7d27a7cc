//! From the start of a one-shot prompt to the first byte of its request, in an empty home, against a hello-world that
//! makes one request. The two take turns.
//!
//! The processor time is what Linux has counted for the threads of the process (`schedstat`, nanoseconds) at the
//! moment of the first byte: the clock ticks of `stat` are as long as the whole start, and the usage of a process that
//! has ended would count its answer and its end, too. A thread that is running shows its time only up to the last
//! tick, so the server waits a moment before it looks: by then all threads sleep and wait for an answer that never
//! comes, and the process is killed.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::Samples;

const ROUNDS: usize = 41;

/// How much more processor time than the hello-world becket may take.
const BAR: Duration = Duration::from_millis(15);

/// How long a process has to fall asleep after its first byte.
const SETTLING_TIME: Duration = Duration::from_millis(3);

/// The longest wait for a program's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Starts {
    processor: Samples,
    wall: Samples,
}

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}", listener.local_addr()?);
    let (mut hello, mut becket) = (Starts::default(), Starts::default());
    for round in 0..=ROUNDS {
        let room = Room::new(&programs.becket)
            .with("OPENAI_BASE_URL", &url)
            .with("OPENAI_API_KEY", "none");
        let mut greeting = Command::new(&programs.hello);
        greeting.arg(&url).env_clear();
        let mut prompt = room.command(["--model", "openai/gpt-4o", "Hello"]);
        let greeted = first_byte(&mut greeting, &listener)?;
        let prompted = first_byte(&mut prompt, &listener)?;
        // The first round warms the caches.
        if round > 0 {
            hello.add(greeted);
            becket.add(prompted);
        }
    }
    let over = becket.processor.median().saturating_sub(hello.processor.median());
    let ratio = crate::samples::ratio(becket.processor.median(), hello.processor.median());
    report.add(hello.line("start, hello-world"));
    report.add(becket.line("start, becket"));
    report.add(
        Line::new("start, becket over hello-world", Figure::Time(over))
            .bar(Figure::Time(BAR))
            .ratio(ratio)
            .remark("processor time up to the first byte of the request"),
    );
    Ok(())
}

impl Starts {
    fn add(&mut self, (processor, wall): (Duration, Duration)) {
        self.processor.add(processor);
        self.wall.add(wall);
    }

    fn line(&self, name: &str) -> Line {
        let wall = Figure::Time(self.wall.median());
        Line::new(name, Figure::Time(self.processor.median())).remark(format!("processor time; {wall} wall"))
    }
}

/// Runs a program up to the first byte of its request: processor time and wall time.
pub fn first_byte(command: &mut Command, listener: &TcpListener) -> Result<(Duration, Duration), Problem> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn()?;
    let result = await_byte(&mut child, listener, started);
    child.kill()?;
    child.wait()?;
    result
}

fn await_byte(
    child: &mut Child,
    listener: &TcpListener,
    started: Instant,
) -> Result<(Duration, Duration), Problem> {
    let mut connection = loop {
        match listener.accept() {
            Ok((connection, _)) => break connection,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return Err(error.into()),
            Err(_) => {}
        }
        if let Some(status) = child.try_wait()? {
            return Err(format!("the program ended before its request: {status}").into());
        }
        if started.elapsed() > REQUEST_TIMEOUT {
            return Err("the program made no request".into());
        }
        std::thread::sleep(Duration::from_micros(100));
    };
    connection.set_nonblocking(false)?;
    connection.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    connection.read_exact(&mut [0])?;
    let wall = started.elapsed();
    std::thread::sleep(SETTLING_TIME);
    Ok((processor_time(child.id())?, wall))
}

/// The processor time of all threads of a process.
fn processor_time(process: u32) -> Result<Duration, Problem> {
    let mut sum = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        sum += thread_time(&thread?.path().join("schedstat"))?;
    }
    Ok(sum)
}

fn thread_time(file: &Path) -> Result<Duration, Problem> {
    let text = std::fs::read_to_string(file)?;
    let running = text.split_ascii_whitespace().next().unwrap_or_default();
    Ok(Duration::from_nanos(running.parse()?))
}
