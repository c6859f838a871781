//! `cargo xtask fuzz`: libFuzzer on the stable compiler.

use crate::files::files;
use crate::plan::Line;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

const TARGETS: [&str; 7] = ["doors", "json_door", "sequence", "snapshot", "text", "transcript", "wit_door"];

/// Instruments coverage and comparisons for libFuzzer. The passes are LLVM's own, so no nightly compiler is needed.
const FLAGS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// Longest input, in bytes.
const MAX_LEN: usize = 16 * 1024;

/// Runs each target for the given time. Crashing inputs are copied to `tests/crashers`, where the tests run them.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    let mut seconds = None;
    let mut targets = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--seconds" => seconds = rest.next().and_then(|number| number.parse::<u32>().ok()),
            "--target" => targets.extend(rest.next()),
            _ => bail!("usage: cargo xtask fuzz --seconds N [--target NAME]…"),
        }
    }
    let seconds = seconds.filter(|seconds| *seconds > 0).context("say how long: --seconds N, for each target")?;
    if let Some(unknown) = targets.iter().find(|target| !TARGETS.contains(&target.as_str())) {
        bail!("there is no fuzz target `{unknown}`; the targets are {}", TARGETS.join(", "));
    }
    let mut chosen = TARGETS.to_vec();
    chosen.retain(|target| targets.is_empty() || targets.iter().any(|other| other == target));

    let binaries = build(workspace)?;
    let home = workspace.target.join("fuzzing");
    let longest = MAX_LEN.to_string();
    let mut seeds = workspace.library(["seeds"]);
    Line::begin("finding something to start from".into())
        .run(seeds.arg(&workspace.root).arg(&home).arg(&longest).args(TARGETS))?;
    let mut broken = Vec::new();
    for target in chosen {
        let (corpus, artifacts) = (home.join("corpus").join(target), home.join("artifacts").join(target));
        fs::create_dir_all(&artifacts).with_context(|| format!("cannot create {}", artifacts.display()))?;
        let mut fuzzer = std::process::Command::new(binaries.join(target));
        fuzzer.arg(&corpus).arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={MAX_LEN}"));
        fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display()));
        fuzzer.arg(format!("-dict={}", home.join("json.dict").display()));
        // In wall-clock time, which other work may consume; a real hang is found all the same.
        fuzzer.args(["-timeout=120", "-rss_limit_mb=2048"]);
        let mut line = Line::begin(format!("fuzzing {target}"));
        let (status, output) = line.try_run(&mut fuzzer)?;
        line.end("");
        if status.success() {
            // libFuzzer's last progress line: runs, coverage, and the number of interesting inputs.
            let done = output.lines().rfind(|line| line.contains("DONE")).unwrap_or_default();
            println!("{target}: {}", done.split_whitespace().collect::<Vec<_>>().join(" "));
        } else {
            let tail: Vec<_> = output.lines().rev().take(60).collect();
            eprintln!("{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
            broken.push(target);
        }
        keep(workspace, target, &artifacts)?;
    }
    if broken.is_empty() {
        println!("nothing broke");
        return Ok(0);
    }
    println!("broken: {}; the inputs are in tests/crashers, `cargo xtask test` repeats them", broken.join(", "));
    Ok(1)
}

/// Builds the instrumented targets and returns their folder.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mut line = Line::begin("building the fuzz targets".into());
    let verbose = line.run(std::process::Command::new("rustc").arg("-vV"))?;
    let host = verbose.lines().find_map(|line| line.strip_prefix("host: ")).context("`rustc -vV` names no host")?;
    let target = workspace.target.join("fuzz");
    let mut command = workspace.cargo(["build", "--release", "--manifest-path=fuzz/Cargo.toml"]);
    // With an explicit target, the flags do not apply to build scripts and procedural macros.
    command.args(["--target", host]);
    command.env("CARGO_TARGET_DIR", &target).env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
    line.run(&mut command)?;
    line.end("");
    Ok(target.join(host).join("release"))
}

/// Copies crashing inputs to where the tests find them.
fn keep(workspace: &Workspace, target: &str, artifacts: &Path) -> Result<()> {
    let folder = workspace.root.join("tests/crashers").join(target);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for path in files(artifacts)? {
        let name = path.file_name().unwrap_or_default();
        // libFuzzer also keeps inputs that were merely slow for their size, which are not failures.
        if !name.to_string_lossy().starts_with("slow-unit") {
            fs::copy(&path, folder.join(name)).with_context(|| format!("cannot keep {}", path.display()))?;
            println!("kept {}", folder.join(name).display());
        }
    }
    Ok(())
}
