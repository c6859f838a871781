//! The output.

use crate::runs::{Alarm, Marks, Record};
use std::collections::BTreeMap;

/// An alarm up to this many steps after a supervisor would have intervened is in time.
const IN_TIME: i64 = 2;

/// Totals over a set of runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) loops: usize,
    pub(crate) honest: usize,
    /// Loops caught and false alarms, at `nudge` and at `block`.
    pub(crate) nudge: (usize, usize),
    pub(crate) block: (usize, usize),
    in_time: usize,
    /// Caught loops whose label has a time.
    timed: usize,
    early: usize,
    /// Runs that reached their goal and are not labelled as loops, and alarms on them.
    good: usize,
    pub(crate) good_nudge: usize,
    good_block: usize,
}

impl Figures {
    fn add(&mut self, record: &Record, marks: &Marks) {
        let (nudge, block) = (usize::from(marks.nudge.is_some()), usize::from(marks.block.is_some()));
        if record.success == Some(true) && record.is_loop != Some(true) {
            self.good += 1;
            self.good_nudge += nudge;
            self.good_block += block;
        }
        match record.is_loop {
            Some(true) => {
                self.loops += 1;
                self.nudge.0 += nudge;
                self.block.0 += block;
                if let Some(late) = marks.nudge.as_ref().and_then(|alarm| alarm.late) {
                    self.timed += 1;
                    self.in_time += usize::from(late <= IN_TIME);
                    self.early += usize::from(late < 0);
                }
            }
            Some(false) => {
                self.honest += 1;
                self.nudge.1 += nudge;
                self.block.1 += block;
            }
            None => {}
        }
    }

    pub(crate) fn of<'a>(runs: impl Iterator<Item = (&'a Record, &'a Marks)>) -> Self {
        let mut figures = Self::default();
        runs.for_each(|(record, marks)| figures.add(record, marks));
        figures
    }

    /// Loops caught minus four times the false alarms.
    pub(crate) fn worth(&self) -> i64 {
        let bad = i64::try_from(self.nudge.1 + self.good_nudge).unwrap_or(i64::MAX);
        i64::try_from(self.nudge.0).unwrap_or(i64::MAX) - 4 * bad
    }

    pub(crate) fn row(&self, name: &str) -> String {
        let Self { loops, honest, nudge, block, in_time, timed, early, good, good_nudge, good_block } = self;
        let good = if *good == 0 { String::new() } else { format!("{good_nudge}, {good_block} of {good}") };
        format!(
            "{name:<26} {:>4}/{loops:<4} {:>3}/{honest:<4} {:>4}/{loops:<4} {:>3}/{honest:<4} {in_time:>3}/{timed:<4} {early:>4}  {good}",
            nudge.0, nudge.1, block.0, block.1
        )
    }
}

pub(crate) fn files(records: &[Record]) -> Vec<&str> {
    let mut files: Vec<&str> = records.iter().map(|record| record.file.as_str()).collect();
    files.dedup();
    files
}

/// Prints the table of files, and how often each rule fired first.
pub(crate) fn summary(records: &[Record], marks: &[Marks]) {
    println!(
        "{:<26} {:>9} {:>8} {:>9} {:>8} {:>8} {:>4}  reached their goal: nudged, blocked",
        "", "nudge", "false", "block", "false", "in time", "early"
    );
    let runs = || records.iter().zip(marks);
    for file in files(records) {
        println!("{}", Figures::of(runs().filter(|(record, _)| record.file == file)).row(file));
    }
    println!("{}", Figures::of(runs()).row("all"));
    let mut first: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (record, marks) in runs() {
        if let Some(alarm) = &marks.nudge {
            let counts = first.entry(alarm.rule.as_str()).or_default();
            let column = match record.is_loop {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            };
            if let Some(count) = counts.get_mut(column) {
                *count += 1;
            }
        }
    }
    println!("\nfirst alarm: on loops, on honest runs, on runs without a label");
    for (rule, [loops, honest, other]) in first {
        println!("  {rule:<24} {loops:>4} {honest:>4} {other:>4}");
    }
}

/// Prints which rules find loops, in how many collections, and which loops only they find. A rule that helps only one
/// collection may be overfitted to it.
pub(crate) fn by_rule(records: &[Record], marks: &[Marks]) {
    let mut rules: BTreeMap<&str, (BTreeMap<&str, usize>, usize, usize)> = BTreeMap::new();
    for (record, marks) in records.iter().zip(marks) {
        for rule in &marks.rules {
            let (files, alone, wrong) = rules.entry(rule.as_str()).or_default();
            match record.is_loop {
                Some(true) => {
                    *files.entry(record.file.as_str()).or_default() += 1;
                    *alone += usize::from(marks.rules.len() == 1);
                }
                Some(false) => *wrong += 1,
                None => {}
            }
        }
    }
    let several = self::files(records).len() > 1;
    println!("\nalarms of each rule: loops, of those only its own, honest runs; collections with loops that it finds");
    for (rule, (files, alone, wrong)) in rules {
        let all: usize = files.values().sum();
        let names: Vec<String> = files.iter().map(|(file, count)| format!("{file} {count}")).collect();
        let suspect = if files.len() == 1 && alone > 0 && several { "  (one collection alone)" } else { "" };
        println!("  {rule:<24} {all:>4} {alone:>4} {wrong:>4}  {}{suspect}", names.join(", "));
    }
}

fn told(alarm: Option<&Alarm>) -> String {
    alarm.map_or_else(String::new, |alarm| {
        let late = alarm.late.map(|late| format!(" ({late:+})")).unwrap_or_default();
        format!("{} at {}{late}: {}", alarm.rule, alarm.at, alarm.message)
    })
}

/// Lists missed, late and early loops and false alarms by name.
pub(crate) fn list(records: &[Record], marks: &[Marks]) {
    println!();
    for (record, marks) in records.iter().zip(marks) {
        let alarm = marks.nudge.as_ref();
        let what = match record.is_loop {
            Some(true) if alarm.is_none() => "missed",
            Some(true) if alarm.is_some_and(|alarm| alarm.late.is_some_and(|late| late > IN_TIME)) => "late",
            Some(true) if alarm.is_some_and(|alarm| alarm.late.is_some_and(|late| late < 0)) => "early",
            Some(false) if alarm.is_some() => "false",
            None if alarm.is_some() && record.success == Some(true) => "good run",
            _ => continue,
        };
        let blocked = marks.block.as_ref().map(|_| format!("; {}", told(marks.block.as_ref()))).unwrap_or_default();
        println!("{what:<9} {:<24} {} {}{blocked}", record.file, record.id, told(alarm));
    }
}

/// The results of one run as JSON, for other programs.
pub(crate) fn json(record: &Record, marks: &Marks) -> serde_json::Value {
    let alarm = |alarm: Option<&Alarm>| {
        alarm.map(|alarm| serde_json::json!({ "at": alarm.at, "rule": alarm.rule, "late": alarm.late }))
    };
    serde_json::json!({
        "file": record.file,
        "id": record.id,
        "loop": record.is_loop,
        "success": record.success,
        "third": record.third,
        "nudge": alarm(marks.nudge.as_ref()),
        "block": alarm(marks.block.as_ref()),
        "first": marks.first,
    })
}

/// Prints the loops lost and the false alarms avoided without a rule.
pub(crate) fn difference(rule: &str, records: &[Record], with: &[Marks], without: &[Marks]) {
    let count = |is_loop: bool, level: fn(&Marks) -> bool| {
        let runs = records.iter().zip(with.iter().zip(without)).filter(|(record, _)| record.is_loop == Some(is_loop));
        runs.filter(|(_, (with, without))| level(with) && !level(without)).count()
    };
    let (nudged, blocked) = (|marks: &Marks| marks.nudge.is_some(), |marks: &Marks| marks.block.is_some());
    println!(
        "  {rule:<24} nudge {:>3} {:>3}   block {:>3} {:>3}",
        count(true, nudged),
        count(false, nudged),
        count(true, blocked),
        count(false, blocked)
    );
}

/// Chooses a threshold on all files but one and prints its results on that one, for each file in turn.
pub(crate) fn left_out(what: &str, records: &[Record], tried: &[(u32, Vec<Marks>)]) {
    println!("\n{what}: fitted");
    let figures = |marks: &[Marks], keep: &dyn Fn(&Record) -> bool| {
        Figures::of(records.iter().zip(marks).filter(|(record, _)| keep(record)))
    };
    for (value, marks) in tried {
        println!("{}", figures(marks, &|_| true).row(&value.to_string()));
    }
    println!("\n{what}: chosen without the file it is used on");
    let mut sum = (0, 0, 0, 0);
    for file in files(records) {
        let worth = |marks: &[Marks]| figures(marks, &|record| record.file != file).worth();
        let Some((value, marks)) = tried.iter().max_by_key(|(value, marks)| (worth(marks), *value)) else { continue };
        let own = figures(marks, &|record| record.file == file);
        println!("{}", own.row(&format!("{file} ({value})")));
        sum = (sum.0 + own.nudge.0, sum.1 + own.loops, sum.2 + own.nudge.1, sum.3 + own.honest);
    }
    println!("together: caught {} of {}, false {} of {}", sum.0, sum.1, sum.2, sum.3);
}
