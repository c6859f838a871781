//! Scores scenario files natively, in seconds: `cargo xtask score PATH…`.
//!
//! Prints, per file and in total: loops caught and false alarms at `nudge` and at `block`, how late the alarm came
//! compared with the label's `third`, which rules fired first, and which rules help only one collection. Reads `.jsonl`
//! and `.jsonl.gz` scenario files, and folders of them.

mod leave_out;
#[path = "../../tests/support/raw_scenario.rs"]
mod raw_scenario;
mod runs;
mod tables;

use loopwarden::json;
use runs::{Marks, Record, load};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

const HELP: &str = "\
usage: score PATH… [options]

  PATH                    a scenario file (.jsonl, .jsonl.gz) or a folder with such files below it
  --config FILE           the configuration for scenarios that bring none of their own
  --without RULE          leave a rule out; may be given more than once
  --ablate                score once more without each rule that was first anywhere
  --vary RULE.LEVEL=A,B,… score with each threshold, and choose it leaving one file out at a time
  --set NAME=VALUE        give a constant of src/tuned.rs another value; may be given more than once
  --leave-out             choose every constant of src/tuned.rs, and the thresholds of the rules about goals, without the
                          collection that they are then used on, each in turn
  --list                  every missed loop, every false alarm and every late one by name
  --json                  one JSON object a run instead of tables
";

/// The command-line options.
#[derive(Debug, Default)]
struct Options {
    paths: Vec<PathBuf>,
    config: Option<PathBuf>,
    without: Vec<String>,
    ablate: bool,
    vary: Option<(String, Vec<u32>)>,
    leave_out: bool,
    list: bool,
    json: bool,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let mut value = |what: &str| args.next().ok_or_else(|| format!("{what} needs a value"));
        match arg.as_str() {
            "--config" => options.config = Some(value("--config")?.into()),
            "--without" => options.without.push(value("--without")?),
            "--vary" => {
                let text = value("--vary")?;
                let (what, values) = text.split_once('=').ok_or("--vary needs RULE.LEVEL=A,B,…")?;
                let number = |value: &str| value.parse().map_err(|_| format!("--vary {what}: `{value}` is no number"));
                let values = values.split(',').map(number).collect::<Result<_, _>>()?;
                options.vary = Some((what.to_owned(), values));
            }
            "--set" => leave_out::set(&value("--set")?)?,
            "--leave-out" => options.leave_out = true,
            "--ablate" => options.ablate = true,
            "--list" => options.list = true,
            "--json" => options.json = true,
            other if other.starts_with('-') => return Err(format!("there is no option {other}\n\n{HELP}").into()),
            path => options.paths.push(path.into()),
        }
    }
    if options.paths.is_empty() { Err(HELP.into()) } else { Ok(options) }
}

/// The configuration from a file, validated, or an empty one.
fn base(file: Option<&PathBuf>) -> Result<String, Box<dyn Error>> {
    let Some(file) = file else { return Ok("{}".to_owned()) };
    let named = |error: &dyn Error| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| named(&error))?;
    json::detector(&text).map_err(|error| named(&error))?;
    Ok(text)
}

/// The configuration for scoring: that of the file without some rules, and with a changed threshold.
fn configured(base: &str, without: &[String], threshold: Option<(&str, u32)>) -> Result<String, Box<dyn Error>> {
    let mut config: serde_json::Value = serde_json::from_str(base)?;
    let top = config.as_object_mut().ok_or("the configuration is no object")?;
    let rules = top.entry("rules").or_insert_with(|| serde_json::json!({}));
    let rules = rules.as_object_mut().ok_or("`rules` is no object")?;
    let mut set = |rule: &str, name: &str, value: serde_json::Value| -> Result<(), Box<dyn Error>> {
        let rule = rules.entry(rule).or_insert_with(|| serde_json::json!({}));
        rule.as_object_mut().ok_or("a rule is no object")?.insert(name.to_owned(), value);
        Ok(())
    };
    for rule in without {
        set(rule, "enabled", false.into())?;
    }
    if let Some((what, value)) = threshold {
        let (rule, level) = what.split_once('.').ok_or("--vary needs RULE.LEVEL=A,B,…")?;
        set(rule, level, value.into())?;
    }
    let config = config.to_string();
    json::detector(&config).map_err(|error| format!("--without, --vary: {error}"))?;
    Ok(config)
}

/// Scores every run under a configuration, on all cores.
fn score(records: &[Record], config: &str) -> Vec<Marks> {
    let (next, cores) = (AtomicUsize::new(0), thread::available_parallelism().map_or(1, usize::from));
    let work = || {
        let mut done = Vec::new();
        while let Some((index, record)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            records.get(index).map(|record| (index, record))
        } {
            done.push((index, record.marks(config)));
        }
        done
    };
    let mut all: Vec<(usize, Marks)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, marks)| marks).collect()
}

/// Scores, and lists at the end what could not be read.
fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let base = base(options.config.as_ref())?;
    let thresholds =
        options.vary.iter().flat_map(|(what, values)| values.iter().map(move |value| Some((&**what, *value))));
    for threshold in [None].into_iter().chain(thresholds) {
        configured(&base, &options.without, threshold)?;
    }
    let (records, unread) = load(&options.paths)?;
    if !records.is_empty() || unread.is_empty() {
        told(options, &base, &records)?;
    }
    for what in &unread {
        eprintln!("cannot be read: {what}");
    }
    Ok(if unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told(options: &Options, base: &str, records: &[Record]) -> Result<(), Box<dyn Error>> {
    let config = configured(base, &options.without, None)?;
    let marks = score(records, &config);
    if options.json {
        for (record, marks) in records.iter().zip(&marks) {
            println!("{}", tables::json(record, marks));
        }
        return Ok(());
    }
    tables::summary(records, &marks);
    tables::by_rule(records, &marks);
    if options.list {
        tables::list(records, &marks);
    }
    if options.ablate {
        println!("\nwithout one rule: loops no longer caught, false alarms that go");
        let mut first: Vec<&str> = marks.iter().flat_map(|marks| marks.rules.iter().map(String::as_str)).collect();
        first.sort_unstable();
        first.dedup();
        for rule in first {
            let mut without = options.without.clone();
            without.push(rule.to_owned());
            tables::difference(rule, records, &marks, &score(records, &configured(base, &without, None)?));
        }
    }
    if options.leave_out {
        leave_out::report(records, &|thresholds| {
            let mut config = config.clone();
            for threshold in thresholds {
                config = configured(&config, &[], Some(*threshold))?;
            }
            Ok(score(records, &config))
        })?;
    }
    if let Some((what, values)) = &options.vary {
        let mut tried = Vec::new();
        for value in values {
            tried.push((*value, score(records, &configured(base, &options.without, Some((what, *value)))?)));
        }
        tables::left_out(what, records, &tried);
    }
    Ok(())
}

fn main() -> ExitCode {
    let failed = |code: u8, error: &dyn Error| {
        eprintln!("{error}");
        ExitCode::from(code)
    };
    match options(env::args().skip(1)) {
        Ok(options) => run(&options).unwrap_or_else(|error| failed(1, &*error)),
        Err(error) => failed(2, &*error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, configured, load, options, score};
    use crate::runs::Record;
    use std::path::PathBuf;
    use std::{env, fs, process};

    fn asked(args: &[&str]) -> Result<Options, String> {
        options(args.iter().map(|arg| (*arg).to_owned())).map_err(|error| error.to_string())
    }

    /// A run in which one call fails `times` times in a row.
    fn run(id: &str, label: &str, times: usize) -> String {
        let call = r#"{"type":"tool-call","tool":"moor","args":{"berth":7}}"#;
        let result = r#"{"type":"tool-result","tool":"moor","outcome":"error","output":"Error: the quay is closed"}"#;
        let events = vec![format!("{call},{result}"); times].join(",");
        format!(r#"{{"id":"{id}",{label},"events":[{events}]}}"#)
    }

    /// Creates a new folder with these files.
    fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let folder = env::temp_dir().join(format!("loopwarden-score-{}-{name}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        folder
    }

    fn first(records: &[Record], config: &str) -> Vec<Option<(usize, String)>> {
        let marks = score(records, config);
        marks.into_iter().map(|marks| marks.nudge.map(|alarm| (alarm.at, alarm.rule))).collect()
    }

    #[test]
    fn what_is_asked_for() {
        let asked_for = asked(&["runs", "--without", "cycle", "--vary", "repeated-error.nudge=2,3", "--list"]).unwrap();
        assert_eq!((asked_for.without, asked_for.list), (vec!["cycle".to_owned()], true));
        assert_eq!(asked_for.vary, Some(("repeated-error.nudge".to_owned(), vec![2, 3])));
        for (args, error) in [
            (&["runs", "--lst"][..], "there is no option --lst"),
            (&["runs", "--config"], "--config needs a value"),
            (&["runs", "--vary", "cycle.nudge"], "--vary needs RULE.LEVEL=A,B"),
            (&["runs", "--vary", "cycle.nudge=few"], "`few` is no number"),
            (&[], "usage: score PATH"),
        ] {
            let said = asked(args).unwrap_err();
            assert!(said.contains(error), "{args:?}: {said}");
        }
        assert!(configured("{}", &["cicle".to_owned()], None).is_err());
        assert!(configured("{}", &[], Some(("cycle", 3))).is_err());
    }

    #[test]
    fn a_loop_and_an_honest_run() {
        let runs = [run("stuck", r#""expect":"loop","expectAt":5"#, 5), run("twice", r#""expect":"no-loop""#, 2)];
        let folder = folder("runs", &[("a.jsonl", runs.join("\n").as_bytes())]);
        let (records, unread) = load(std::slice::from_ref(&folder)).unwrap();
        assert!(unread.is_empty(), "{unread:?}");
        let labels: Vec<_> = records.iter().map(|record| (&*record.file, &*record.id, record.is_loop)).collect();
        assert_eq!(labels, [("a", "stuck", Some(true)), ("a", "twice", Some(false))]);
        let rule = "repeated-call".to_owned();
        assert_eq!(first(&records, "{}"), [Some((5, rule.clone())), None]);
        // With another threshold, and without the rule.
        let earlier = configured("{}", &[], Some(("repeated-call.nudge", 2))).unwrap();
        assert_eq!(first(&records, &earlier), [Some((3, rule.clone())), Some((3, rule.clone()))]);
        let without = configured("{}", &[rule], None).unwrap();
        assert_ne!(first(&records, &without), first(&records, "{}"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_told_of() {
        let (right, wrong) = (run("right", r#""expect":"loop""#, 5), run("wrong", r#""expect":"yes""#, 5));
        let config = run("config", r#""expect":"loop","config":{"rules":{"cicle":{}}}"#, 5);
        let text = [right, wrong, config].join("\n");
        let picture = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13];
        let files: [(&str, &[u8]); 4] = [
            ("b.jsonl", text.as_bytes()),
            ("c.jsonl.gz", &[0x1f, 0x8b, 8, 0]),
            ("d.jsonl", &picture),
            ("e.jsonl", &[b'{', 0, 0, b'}']),
        ];
        let folder = folder("unread", &files);
        let (records, unread) = load(std::slice::from_ref(&folder)).unwrap();
        assert_eq!(records.iter().map(|record| &*record.id).collect::<Vec<_>>(), ["right"]);
        let [label, config, file, picture, zeros] = unread.as_slice() else { panic!("{unread:?}") };
        assert!(label.contains("b.jsonl:2: expect: expected \"loop\" or \"no-loop\""), "{label}");
        assert!(config.contains("b.jsonl:3: config: ") && config.contains("rules.cicle"), "{config}");
        assert!(file.contains("c.jsonl.gz: "), "{file}");
        let no_text = "is no text that can be read; a log is UTF-8 text, plain or gzip-compressed";
        for (told, name) in [(picture, "d.jsonl: "), (zeros, "e.jsonl: ")] {
            assert!(told.contains(name) && told.ends_with(no_text), "{told}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
