//! Constants and thresholds chosen without the runs that they are then scored on.

use crate::runs::{Marks, Record};
use crate::tables::{Figures, files};
use loopwarden::tuned::ALL;
use std::error::Error;

/// Thresholds of the rules about goals, effects and talk, with the values to try.
const THRESHOLDS: [(&str, &[u32]); 8] = [
    ("reworded-request.nudge", &[7, 8, 10, 12, 15]),
    ("stale-talk.nudge", &[14, 17, 20, 24, 28]),
    ("no-effect.nudge", &[2, 3]),
    ("no-effect.block", &[4, 5, 6]),
    ("harness-rejection.nudge", &[3, 4, 5, 6]),
    ("resubmission.nudge", &[2, 3]),
    ("no-new-information.nudge", &[3, 4, 5]),
    ("same-answer.nudge", &[3, 4, 5]),
];

/// Sets a constant, given as `NAME=VALUE`.
pub(crate) fn set(what: &str) -> Result<(), Box<dyn Error>> {
    let (name, value) = what.split_once('=').ok_or("--set needs NAME=VALUE")?;
    let (_, constant, ..) = ALL.iter().find(|(known, ..)| *known == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|(name, ..)| *name).collect();
        format!("there is no constant {name}, but {}", names.join(", "))
    })?;
    constant.set(value.parse()?);
    Ok(())
}

type Threshold = (&'static str, u32);
type Scores<'a> = &'a dyn Fn(&[Threshold]) -> Result<Vec<Marks>, Box<dyn Error>>;

/// A constant or threshold to choose, with every value tried and its results.
struct Choice {
    name: &'static str,
    own: u32,
    tried: Vec<(u32, Vec<Marks>)>,
}

impl Choice {
    /// The value with the highest worth on the runs selected by `keep`. Of several, the middle one, so that the value
    /// in use, which was chosen on all runs, has no advantage.
    fn best(&self, records: &[Record], keep: &dyn Fn(&Record) -> bool) -> Option<&(u32, Vec<Marks>)> {
        let worth = |marks: &[Marks]| of(records, marks, keep).worth();
        let most = self.tried.iter().map(|(_, marks)| worth(marks)).max()?;
        let best: Vec<_> = self.tried.iter().filter(|(_, marks)| worth(marks) == most).collect();
        best.get((best.len() - 1) / 2).copied()
    }
}

fn of(records: &[Record], marks: &[Marks], keep: &dyn Fn(&Record) -> bool) -> Figures {
    Figures::of(records.iter().zip(marks).filter(|(record, _)| keep(record)))
}

/// Prints the results of each choice made without the collection that it is then used on, and of all choices together.
pub(crate) fn report(records: &[Record], score: Scores<'_>) -> Result<(), Box<dyn Error>> {
    let fitted = score(&[])?;
    let mut choices = Vec::new();
    for (name, constant, own, others) in ALL {
        let mut tried = vec![(*own, fitted.clone())];
        for value in *others {
            constant.set(*value);
            tried.push((*value, score(&[])?));
        }
        constant.set(*own);
        tried.sort_by_key(|(value, _)| *value);
        choices.push(Choice { name, own: *own, tried });
    }
    for (name, values) in THRESHOLDS {
        let tried = values.iter().map(|value| Ok((*value, score(&[(name, *value)])?)));
        let tried = tried.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
        choices.push(Choice { name, own: 0, tried });
    }
    println!(
        "\nleaving one collection out: caught, false; good runs nudged. First the fitted values, then each chosen alone"
    );
    let line = |name: &str, sum: &[Figures], chosen: &str| {
        let add = |figure: fn(&Figures) -> usize| sum.iter().map(figure).sum::<usize>();
        println!(
            "  {name:<26} {:>3}/{}, {:>2}/{}; block {:>2}, {}; {}  {chosen}",
            add(|one| one.nudge.0),
            add(|one| one.loops),
            add(|one| one.nudge.1),
            add(|one| one.honest),
            add(|one| one.block.0),
            add(|one| one.block.1),
            add(|one| one.good_nudge),
        );
    };
    let collections = files(records);
    let each = |marks: &dyn Fn(&str) -> Option<Vec<Marks>>| -> Vec<Figures> {
        let figures = |file: &&str| Some(of(records, &marks(file)?, &|record| record.file == **file));
        collections.iter().filter_map(figures).collect()
    };
    line("fitted", &each(&|_| Some(fitted.clone())), "");
    for choice in &choices {
        let best = |file: &str| choice.best(records, &|record| record.file != file);
        let chosen: Vec<String> =
            collections.iter().filter_map(|file| best(file)).map(|(value, _)| value.to_string()).collect();
        let own = if choice.own == 0 { String::new() } else { format!("{} in use; ", choice.own) };
        line(
            choice.name,
            &each(&|file| best(file).map(|(_, marks)| marks.clone())),
            &format!("{own}{}", chosen.join(" ")),
        );
    }
    println!("\nall of them chosen without the collection that they are used on");
    let mut sum = Vec::new();
    for file in &collections {
        let mut thresholds: Vec<Threshold> = Vec::new();
        for choice in &choices {
            let Some((value, _)) = choice.best(records, &|record| record.file != **file) else { continue };
            match ALL.iter().find(|(name, ..)| *name == choice.name) {
                Some((_, constant, ..)) => constant.set(*value),
                None => thresholds.push((choice.name, *value)),
            }
        }
        let marks = score(&thresholds)?;
        ALL.iter().for_each(|(_, constant, own, _)| constant.set(*own));
        let own = of(records, &marks, &|record| record.file == **file);
        println!("  {}", own.row(file));
        sum.push(own);
    }
    line("together", &sum, "");
    Ok(())
}
