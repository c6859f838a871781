//! Steps with dependencies, run in order or in parallel, each with one line of progress.

use crate::counts::Counts;
use crate::inputs::Record;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, IsTerminal, Read, Write, stderr};
use std::num::NonZero;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A unit of work that commands are composed of.
pub(crate) struct Step {
    /// Its name in `needs` and after `--only`.
    pub(crate) name: &'static str,
    /// What it is doing, for the progress line.
    pub(crate) label: &'static str,
    /// How long it usually takes the first time on two cores, so that nobody wonders whether it hangs; empty if
    /// unknown.
    pub(crate) usually: &'static str,
    /// What it works with: steps of the same lane never run at the same time.
    pub(crate) lane: Lane,
    /// Steps that must have succeeded before.
    pub(crate) needs: &'static [&'static str],
    /// What its tests depend on, as read by `inputs`: while none of it has changed since they last passed, they need
    /// not run again. Empty for a step that always runs.
    pub(crate) reads: &'static [&'static str],
    /// Does the work. A step that is up to date does nothing and prints nothing.
    pub(crate) action: fn(&Workspace, &mut Line) -> Result<Counts>,
}

/// The resource that a step works with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Cargo's folder for native builds.
    Native,
    /// Cargo's folders for WebAssembly modules.
    Modules,
    /// Node, and what it installs.
    Scripts,
    /// Other programs that tests drive: browsers, Redis, Python.
    Hosts,
}

/// The outcome of a step.
#[derive(Clone)]
pub(crate) enum Fate {
    /// It succeeded; for a test step, with the tests it ran.
    Done(Counts),
    /// Its inputs have not changed since these tests passed.
    Unchanged(Counts),
    /// It failed; its counts include at least one failure.
    Failed(Counts),
    /// This step, which it needs, did not succeed.
    NotRun(&'static str),
}

/// The named steps and everything they need, in the order of `all`.
///
/// # Errors
/// A name that is not in `all`.
pub(crate) fn plan<'a>(all: &'a [Step], names: &[&str]) -> Result<Vec<&'a Step>> {
    let mut wanted: Vec<&str> = Vec::new();
    let mut open: Vec<&str> = names.to_vec();
    while let Some(name) = open.pop() {
        let Some(step) = all.iter().find(|step| step.name == name) else {
            let known: Vec<_> = all.iter().map(|step| step.name).collect();
            bail!("there is no step `{name}`; the steps are {}", known.join(", "));
        };
        if !wanted.contains(&name) {
            wanted.push(name);
            open.extend(step.needs);
        }
    }
    Ok(all.iter().filter(|step| wanted.contains(&step.name)).collect())
}

/// Runs steps in order, up to the first that fails.
///
/// # Errors
/// A step failed; its output has been printed.
pub(crate) fn run(workspace: &Workspace, steps: &[&Step]) -> Result<()> {
    for (index, step) in steps.iter().enumerate() {
        let usually = if step.usually.is_empty() { String::new() } else { format!(" (usually {})", step.usually) };
        let line = Line::begin(format!("[{}/{}] {}{usually}", index + 1, steps.len(), step.label));
        if let Fate::Failed(_) = one(workspace, step, line, false) {
            bail!("{} failed", step.name);
        }
    }
    Ok(())
}

/// Runs every step whose needs were met, even after others failed, one per lane at a time. With `reuse`, tests that
/// passed on the very same inputs are not run again.
pub(crate) fn run_all<'a>(workspace: &Workspace, steps: &[&'a Step], reuse: bool) -> Vec<(&'a Step, Fate, Duration)> {
    let board = Mutex::new(vec![Slot::Open; steps.len()]);
    let moved = Condvar::new();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        // Three on two cores, since one of them is mostly waiting: for the network, for a browser, or for the compiler
        // to finish its last and longest crate.
        for _ in 0..if cores == 1 { 1 } else { 3 } {
            scope.spawn(|| {
                while let Some(index) = take(steps, &board, &moved) {
                    let Some(step) = steps.get(index) else { break };
                    let begin = Instant::now();
                    let label = format!("[{}/{}] {}", index + 1, steps.len(), step.label);
                    let fate = one(workspace, step, Line::aside(label), reuse);
                    if let Some(slot) = lock(&board).get_mut(index) {
                        *slot = Slot::Ended(fate, begin.elapsed());
                    }
                    moved.notify_all();
                }
            });
        }
    });
    let slots = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ended = steps.iter().zip(slots).filter_map(|(step, slot)| match slot {
        Slot::Ended(fate, time) => Some((*step, fate, time)),
        Slot::Open | Slot::Begun => None,
    });
    ended.collect()
}

/// The progress of a step.
#[derive(Clone)]
enum Slot {
    Open,
    Begun,
    Ended(Fate, Duration),
}

/// Nobody panics while holding the lock; if somebody does, the contents still count.
fn lock(board: &Mutex<Vec<Slot>>) -> MutexGuard<'_, Vec<Slot>> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a step that can start and claims it; `None` once all have started.
fn take(steps: &[&Step], board: &Mutex<Vec<Slot>>, moved: &Condvar) -> Option<usize> {
    let mut slots = lock(board);
    loop {
        if !slots.iter().any(|slot| matches!(slot, Slot::Open)) {
            return None;
        }
        if let Some((index, fate)) = next(steps, &slots) {
            let slot = slots.get_mut(index)?;
            let Some(needed) = fate else {
                *slot = Slot::Begun;
                return Some(index);
            };
            let label = steps.get(index).map_or("", |step| step.label);
            eprintln!("[{}/{}] {label} … not run: {needed} failed", index + 1, steps.len());
            *slot = Slot::Ended(Fate::NotRun(needed), Duration::ZERO);
            moved.notify_all();
            continue;
        }
        slots = moved.wait(slots).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The first step that can start, or one that cannot, with the need that failed.
fn next(steps: &[&Step], slots: &[Slot]) -> Option<(usize, Option<&'static str>)> {
    let all = || steps.iter().zip(slots);
    all().enumerate().find_map(|(index, (step, slot))| {
        if !matches!(slot, Slot::Open) {
            return None;
        }
        let needs = || all().filter(|(other, _)| step.needs.contains(&other.name));
        let unmet = needs().find(|(_, slot)| matches!(slot, Slot::Ended(fate, _) if !fate.succeeded()));
        if let Some((other, _)) = unmet {
            return Some((index, Some(other.name)));
        }
        let is_ready = needs().all(|(_, slot)| matches!(slot, Slot::Ended(..)));
        let is_free = all().all(|(other, slot)| other.lane != step.lane || !matches!(slot, Slot::Begun));
        (is_ready && is_free).then_some((index, None))
    })
}

impl Fate {
    pub(crate) fn succeeded(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Unchanged(_))
    }
}

fn one(workspace: &Workspace, step: &Step, mut line: Line, reuse: bool) -> Fate {
    // Unreadable inputs cannot confirm an earlier result: the step runs and reports itself what is missing.
    let record = Record::of(workspace, step.name, step.reads).ok().flatten();
    if reuse && let Some(counts) = record.as_ref().and_then(Record::passed) {
        line.end(&format!(", unchanged since it passed: {}", step.reads.join(", ")));
        return Fate::Unchanged(counts);
    }
    match (step.action)(workspace, &mut line) {
        Ok(counts) if counts.failed == 0 => {
            line.end("");
            if let Some(record) = record {
                record.pass(counts);
            }
            Fate::Done(counts)
        }
        Ok(counts) => {
            line.end(", FAILED");
            Fate::Failed(counts)
        }
        Err(error) => {
            line.end(", FAILED");
            eprintln!("error: {error:#}\n");
            Fate::Failed(Counts { failed: 1, ..Counts::default() })
        }
    }
}

/// The progress line of a step: its label, its command's latest output (on a terminal), and the elapsed time.
pub(crate) struct Line {
    label: String,
    begin: Instant,
    terminal: bool,
    /// Shares the terminal with other steps: printed only at the end, with each sign of life on a line of its own.
    aside: bool,
    shown: Instant,
}

impl Line {
    pub(crate) fn begin(label: String) -> Self {
        let now = Instant::now();
        eprint!("{label} …");
        Self { label, begin: now, terminal: stderr().is_terminal(), aside: false, shown: now }
    }

    /// The line of one of several parallel steps.
    pub(crate) fn aside(label: String) -> Self {
        let now = Instant::now();
        Self { label, begin: now, terminal: false, aside: true, shown: now }
    }

    pub(crate) fn end(&self, remark: &str) {
        let seconds = self.begin.elapsed().as_secs_f64();
        let clear = if self.terminal { "\r\x1b[K" } else { "" };
        let label = if self.terminal || self.aside { format!("{} …", self.label) } else { String::new() };
        eprintln!("{clear}{label} {seconds:.1} s{remark}");
    }

    /// Prints a remark that stays.
    pub(crate) fn note(&self, text: &str) {
        if self.aside {
            eprintln!("{} … {text}", self.label);
        } else {
            eprint!(" {text} …");
        }
    }

    /// Runs a command and returns everything it printed.
    ///
    /// # Errors
    /// It cannot be started, or it failed; its output has been printed then.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<String> {
        let (status, output) = self.try_run(command)?;
        if !status.success() {
            eprintln!("\n{output}");
            bail!("`{}`: {status}", shown(command));
        }
        Ok(output)
    }

    /// Runs cargo to compile something.
    ///
    /// # Errors
    /// It cannot be started, it failed, or it emitted warnings.
    pub(crate) fn compile(&mut self, command: &mut Command) -> Result<()> {
        let output = self.run(command)?;
        if has_warnings(&output) {
            eprintln!("\n{output}");
            bail!("`{}` warned", shown(command));
        }
        Ok(())
    }

    /// Runs a command that may fail. Only the progress is shown.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn try_run(&mut self, command: &mut Command) -> Result<(ExitStatus, String)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run `{}`", shown(command)))?;
        let (sender, lines) = channel();
        let readers = [
            child.stdout.take().map(|pipe| forward(pipe, sender.clone())),
            child.stderr.take().map(|pipe| forward(pipe, sender)),
        ];
        let mut output = String::new();
        loop {
            match lines.recv_timeout(Duration::from_millis(500)) {
                Ok(line) => {
                    self.show(&line);
                    output.push_str(&line);
                    output.push('\n');
                }
                Err(RecvTimeoutError::Timeout) => self.show(""),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        for reader in readers.into_iter().flatten() {
            // A reader ends with its pipe; it cannot fail in a way that matters here.
            let _ = reader.join();
        }
        let status = child.wait().with_context(|| format!("cannot wait for `{}`", shown(command)))?;
        Ok((status, output))
    }

    /// Shows a sign of life: on a terminal the command's output, elsewhere the time, every 30 seconds.
    fn show(&mut self, said: &str) {
        if self.terminal {
            if !said.trim().is_empty() {
                let said: String = said.trim().chars().filter(|c| !c.is_control()).take(60).collect();
                eprint!("\r\x1b[K{} … {said}", self.label);
            }
        } else if self.shown.elapsed() >= Duration::from_secs(30) {
            self.shown = Instant::now();
            let seconds = self.begin.elapsed().as_secs();
            if self.aside {
                eprintln!("{} … {seconds} s so far", self.label);
            } else {
                eprint!(" {seconds} s …");
            }
        }
        // Progress is a courtesy: without stderr the work continues.
        let _ = stderr().flush();
    }
}

fn forward(pipe: impl Read + Send + 'static, sender: Sender<String>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if sender.send(line).is_err() {
                break;
            }
        }
    })
}

/// Whether cargo reports warnings of a package, from this compilation or a cached one.
fn has_warnings(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("warning: `") && line.contains(" generated "))
}

/// A command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &Workspace, _: &mut Line) -> Result<Counts> {
        Ok(Counts::default())
    }

    const fn step(name: &'static str, lane: Lane, needs: &'static [&'static str]) -> Step {
        Step { name, label: "", usually: "", lane, needs, reads: &[], action: nothing }
    }

    #[test]
    fn warnings_are_counted_where_cargo_counts_them() {
        let warned =
            "   Compiling a\nwarning: unused variable: `x`\n\nwarning: `a` (lib) generated 1 warning\n    Finished";
        assert!(has_warnings(warned));
        assert!(!has_warnings("   Compiling a\n    Finished `test` profile\n"));
    }

    #[test]
    fn a_step_begins_when_its_needs_are_met_and_its_lane_is_free() {
        let all = [
            step("a", Lane::Native, &[]),
            step("b", Lane::Native, &[]),
            step("c", Lane::Modules, &["a"]),
            step("d", Lane::Scripts, &["c"]),
        ];
        let steps: Vec<&Step> = all.iter().collect();
        let done = || Slot::Ended(Fate::Done(Counts::default()), Duration::ZERO);
        let failed = || Slot::Ended(Fate::Failed(Counts::default()), Duration::ZERO);
        let first = |slots: [Slot; 4]| next(&steps, &slots);
        assert_eq!(first([Slot::Open, Slot::Open, Slot::Open, Slot::Open]), Some((0, None)));
        assert_eq!(first([Slot::Begun, Slot::Open, Slot::Open, Slot::Open]), None, "one lane, and `c` needs `a`");
        assert_eq!(first([done(), Slot::Begun, Slot::Open, Slot::Open]), Some((2, None)), "beside `b`");
        assert_eq!(first([failed(), Slot::Begun, Slot::Open, Slot::Open]), Some((2, Some("a"))));
        let not_run = Slot::Ended(Fate::NotRun("a"), Duration::ZERO);
        assert_eq!(first([failed(), done(), not_run, Slot::Open]), Some((3, Some("c"))), "nor what needs that");
        assert_eq!(first([done(), done(), done(), Slot::Begun]), None);
    }
}
