//! All steps. A command names those it is after; what they need is added.

use crate::counts::Counts;
use crate::plan::{Lane, Line, Step, shown};
use crate::workspace::{Build, Workspace};
use crate::{audit, setup, wasm};
use anyhow::{Context, Result, bail};
use std::process::Command;

/// Ordered so that every step follows those it needs: quick checks first, and what others wait for.
pub(crate) const ALL: &[Step] = &[
    Step {
        name: "toolchain",
        label: "checking the toolchain",
        usually: "",
        lane: Lane::Scripts,
        needs: &[],
        reads: &[],
        action: setup::toolchain,
    },
    Step {
        name: "fmt",
        label: "checking the format",
        usually: "",
        lane: Lane::Native,
        needs: &[],
        reads: &[],
        action: format,
    },
    Step {
        name: "wasm-tools",
        label: "building what makes the modules usable",
        usually: "2 min",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &[],
        action: wasm::tools,
    },
    Step {
        name: "schema",
        label: "comparing the schemas with the model",
        usually: "",
        lane: Lane::Native,
        needs: &[],
        reads: &[],
        action: schema,
    },
    Step {
        name: "expected",
        label: "answering the corpus natively",
        usually: "",
        lane: Lane::Native,
        needs: &[],
        reads: &[],
        action: expected,
    },
    Step {
        name: "clippy",
        label: "linting the Rust code",
        usually: "",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &[],
        action: clippy,
    },
    Step {
        name: "unit",
        label: "testing the library's units and the corpus natively",
        usually: "",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &[],
        action: unit,
    },
    Step {
        name: "native",
        label: "testing the library natively",
        usually: "6 min",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &["Cargo.toml", "src", "tests", "benches", "wit", "README.md", "docs", "js/schema"],
        action: native,
    },
    Step {
        name: "xtask",
        label: "testing the build script",
        usually: "",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &["xtask"],
        action: xtask,
    },
    Step {
        name: "npm-ci",
        label: "installing the npm tools",
        usually: "15 s",
        lane: Lane::Scripts,
        needs: &["toolchain"],
        reads: &[],
        action: setup::node_modules,
    },
    Step {
        name: "test-tools",
        label: "installing what the npm package's tests need",
        usually: "30 s",
        lane: Lane::Scripts,
        needs: &["npm-ci"],
        reads: &[],
        action: setup::test_tools,
    },
    Step {
        name: "audit",
        label: "looking for known holes and for licences",
        usually: "",
        lane: Lane::Scripts,
        needs: &["npm-ci"],
        reads: &[],
        action: audit::step,
    },
    Step {
        name: "core-module",
        label: "compiling the npm package's core",
        usually: "2 min",
        lane: Lane::Modules,
        needs: &["toolchain"],
        reads: &[],
        action: wasm::core_module,
    },
    Step {
        name: "glue",
        label: "building the npm package's wasm",
        usually: "5 min",
        lane: Lane::Modules,
        needs: &["core-module", "npm-ci", "wasm-tools"],
        reads: &[],
        action: wasm::glue,
    },
    Step {
        name: "component",
        label: "building the component",
        usually: "3 min",
        lane: Lane::Modules,
        needs: &["wasm-tools"],
        reads: &[],
        action: wasm::component,
    },
    Step {
        name: "twice",
        label: "building every module twice, to compare the bytes",
        usually: "8 min",
        lane: Lane::Modules,
        needs: &["component", "glue"],
        reads: &[],
        action: wasm::twice,
    },
    Step {
        name: "package",
        label: "building the npm package",
        usually: "",
        lane: Lane::Scripts,
        needs: &["glue"],
        reads: &[],
        action: wasm::package,
    },
    Step {
        name: "js-lint",
        label: "linting the npm package",
        usually: "",
        lane: Lane::Scripts,
        needs: &["npm-ci"],
        reads: &["js"],
        action: js_lint,
    },
    Step {
        name: "js-test",
        label: "testing the npm package",
        usually: "",
        lane: Lane::Scripts,
        needs: &["package", "test-tools"],
        reads: &["js", "js/dist", "tests", "docs", "README.md"],
        action: js_test,
    },
    Step {
        name: "chromium",
        label: "looking for Chromium",
        usually: "",
        lane: Lane::Hosts,
        needs: &[],
        reads: &[],
        action: setup::chromium,
    },
    Step {
        name: "js-packaging",
        label: "installing the packed npm package",
        usually: "",
        lane: Lane::Scripts,
        needs: &["package", "test-tools", "chromium"],
        // As for `js-installed`: how the package is put together, whatever its modules answer.
        reads: &["js", "js/glue/loopwarden.d.ts", "js/glue/tools.d.ts", "docs", "README.md"],
        action: js_packaging,
    },
    Step {
        name: "js-sizes",
        label: "weighing the npm package",
        usually: "",
        lane: Lane::Scripts,
        needs: &["package", "test-tools"],
        reads: &["js", "js/dist"],
        action: js_sizes,
    },
    Step {
        name: "frameworks",
        label: "installing the adapters' frameworks",
        usually: "",
        lane: Lane::Scripts,
        needs: &["npm-ci"],
        reads: &[],
        action: setup::frameworks,
    },
    Step {
        name: "js-types",
        label: "checking the npm package's types",
        usually: "",
        lane: Lane::Scripts,
        needs: &["package", "test-tools", "frameworks"],
        reads: &["js", "js/glue/loopwarden.d.ts", "js/glue/tools.d.ts"],
        action: js_types,
    },
    Step {
        name: "js-adapters",
        label: "testing the framework adapters",
        usually: "",
        lane: Lane::Scripts,
        needs: &["package", "test-tools", "frameworks", "expected"],
        // Of the core only its answers and its interface, not its bytes, which `js-test` and `js-conformance` cover.
        reads: &["js", "js/glue/loopwarden.d.ts", "js/glue/tools.d.ts", "@expected", "docs", "README.md"],
        action: js_adapters,
    },
    Step {
        name: "js-installed",
        label: "installing the package beside each framework",
        usually: "2 min",
        lane: Lane::Scripts,
        needs: &["package", "test-tools", "frameworks"],
        // Without the modules: other steps check what they answer; this one checks how the package is put together.
        reads: &["js", "js/glue/loopwarden.d.ts", "js/glue/tools.d.ts", "docs", "README.md"],
        action: js_installed,
    },
    Step {
        name: "clippy-modules",
        label: "linting what is compiled for modules",
        usually: "",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &["src", "wit", "Cargo.toml", "clippy.toml"],
        action: clippy_modules,
    },
    Step {
        name: "clippy-fuzz",
        label: "linting the fuzz targets",
        usually: "",
        lane: Lane::Native,
        needs: &["toolchain"],
        reads: &["src", "wit", "fuzz", "Cargo.toml", "clippy.toml"],
        action: clippy_fuzz,
    },
    Step {
        name: "host",
        label: "linting and testing the component in wasmtime",
        usually: "7 min",
        lane: Lane::Native,
        needs: &["component", "expected"],
        reads: &["src", "host-tests", "wit", "tests", "@component", "@expected"],
        action: host,
    },
    Step {
        name: "embed",
        label: "building the wasmtime embedding",
        usually: "5 min",
        lane: Lane::Native,
        needs: &["component"],
        reads: &[],
        action: embed,
    },
    Step {
        name: "python",
        label: "judging a trace from Python",
        usually: "",
        lane: Lane::Hosts,
        needs: &["component"],
        reads: &["examples", "tests", "@component"],
        action: python,
    },
    Step {
        name: "redis",
        label: "looking for Redis",
        usually: "",
        lane: Lane::Hosts,
        needs: &[],
        reads: &[],
        action: setup::redis,
    },
    Step {
        name: "js-state",
        label: "keeping state in Redis and in Durable Objects",
        usually: "",
        lane: Lane::Hosts,
        needs: &["package", "test-tools", "redis", "expected"],
        // Snapshots are part of the answers.
        reads: &["js", "js/glue/loopwarden.d.ts", "js/glue/tools.d.ts", "@expected"],
        action: js_state,
    },
    Step {
        name: "js-conformance",
        label: "comparing Node, jco, Chromium and workerd",
        usually: "",
        lane: Lane::Hosts,
        needs: &["package", "component", "expected", "test-tools", "chromium"],
        reads: &["js", "js/dist", "@component", "@expected"],
        action: js_conformance,
    },
    Step {
        name: "js-view",
        label: "opening the viewer's page in Chromium",
        usually: "",
        lane: Lane::Hosts,
        needs: &["package", "test-tools", "chromium", "expected"],
        // From the core the page shows its answers, and uses its readers and explanations.
        reads: &[
            "js",
            "js/glue/loopwarden.d.ts",
            "js/glue/tools.d.ts",
            "@expected",
            "tests",
            "src/transcript",
            "src/json",
            "src/json.rs",
            "src/js",
        ],
        action: js_view,
    },
];

fn format(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.run(&mut workspace.cargo(["fmt", "--all", "--check"]))
        .context("run `cargo xtask fmt`")
        .map(|_| Counts::default())
}

/// Checks that the files generated from the core are up to date.
fn schema(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.run(workspace.library(["schema", "--check"]).arg(&workspace.root)).map(|_| Counts::default())
}

/// Records the native library's answers to the conformance corpus.
fn expected(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let mut command = workspace.library(["expected"]);
    line.run(command.arg(&workspace.root).arg(workspace.expected())).map(|_| Counts::default())
}

/// Lints all native code but that with wasmtime in one build, so that the library is checked once.
fn clippy(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let packages = ["loopwarden", "loopwarden-against", "xtask", "xtask-library", "xtask-wasm"];
    let packages = packages.map(|name| format!("--package={name}"));
    let mut build: Vec<&str> = packages.iter().map(String::as_str).collect();
    build.push("--all-targets");
    lint(workspace, line, &[&build])
}

/// Lints what is compiled only for modules, with the features of all of them; the compiler reports what a single module
/// does not use when that is built.
fn clippy_modules(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let target = "--target=wasm32-unknown-unknown";
    lint(workspace, line, &[&["--package=loopwarden", "--lib", "--features=component,js,tools", target]])
}

/// Lints the fuzz targets, which are a workspace of their own. They are checked but not built, so that nothing is
/// instrumented or linked, and libFuzzer, which only linking needs, is not compiled.
fn clippy_fuzz(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let manifest = "--manifest-path=fuzz/Cargo.toml";
    // Only these need its dependencies, which may be unavailable without a registry.
    let (status, output) = line.try_run(&mut workspace.cargo(["fetch", "--locked", manifest]))?;
    // An outdated lock file is our mistake, reported as an error below.
    if !status.success() && !output.contains("lock file") {
        line.note(
            "skipped: `cargo fetch --locked --manifest-path fuzz/Cargo.toml` fails, so the targets are not linted",
        );
        return Ok(Counts { skipped: 1, ..Counts::default() });
    }
    let mut command = workspace.cargo(["clippy", "--quiet", "--locked", manifest, "--", "--deny=warnings"]);
    // The view of the library that the fuzzer has; `cargo xtask fuzz` sets this too.
    command.env("CARGO_ENCODED_RUSTFLAGS", "--cfg=fuzzing");
    command.env("CUSTOM_LIBFUZZER_PATH", workspace.target.join("fuzz/not-linked/libfuzzer.a"));
    line.run(&mut command).map(|_| Counts::default())
}

fn lint(workspace: &Workspace, line: &mut Line, builds: &[&[&str]]) -> Result<Counts> {
    for build in builds {
        let mut command = workspace.cargo(["clippy", "--quiet"]);
        line.run(command.args(*build).args(["--", "--deny=warnings"]))?;
    }
    Ok(Counts::default())
}

/// The quick part of `native`.
fn unit(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let units = cargo_test(line, library_test(workspace).arg("--lib"))?;
    let corpus = cargo_test(line, library_test(workspace).args(["--test=it", "corpus::"]))?;
    Ok(units + corpus)
}

/// Unit tests, integration tests and doc tests; and the scorer, which needs tunable constants.
fn native(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let library = cargo_test(line, &mut library_test(workspace))?;
    let mut scorer = workspace.cargo(["test", "--package=loopwarden", "--features=tuning", "--example=score"]);
    Ok(library + cargo_test(line, &mut scorer)?)
}

/// Tests the library and the program that queries it in one build, so that the library is compiled once.
fn library_test(workspace: &Workspace) -> Command {
    workspace.cargo(["test", "--no-fail-fast", "--package=loopwarden", "--package=xtask-library"])
}

fn xtask(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    cargo_test(line, &mut workspace.cargo(["test", "--no-fail-fast", "--package=xtask"]))
}

fn embed(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.run(&mut embedding(workspace)).map(|_| Counts::default())
}

/// The build of the embedding example, which compiles wasmtime.
pub(crate) fn embedding(workspace: &Workspace) -> Command {
    workspace.cargo(["build", "--package=loopwarden-host-tests", "--example=embed"])
}

/// Compiled by clippy, which is rustc with more lints: linting separately would check all of wasmtime in addition to
/// compiling it.
fn host(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let package = "--package=loopwarden-host-tests";
    let test = |what: &[&str]| {
        let mut command = workspace.cargo(["test", package]);
        command.args(what).env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        command.env("LOOPWARDEN_COMPONENT", workspace.component()).env("LOOPWARDEN_EXPECTED", workspace.expected());
        command.env("LOOPWARDEN_BUILD", workspace.build.profile());
        command
    };
    line.compile(&mut test(&["--no-run", "--all-targets"]))?;
    let hosted = cargo_test(line, &mut test(&["--no-fail-fast"]))?;
    // The tool that makes the component also tests its interface.
    let mut command = workspace.cargo(["test", "--no-fail-fast", "--package=xtask-wasm"]);
    command.env("LOOPWARDEN_COMPONENT", workspace.component());
    Ok(hosted + cargo_test(line, &mut command)?)
}

/// The Python example, in its own virtual environment.
fn python(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let Some(python) = setup::python(workspace, line)? else {
        line.note("skipped: there is no Python 3.9 or later with `venv`");
        return Ok(Counts { skipped: 1, ..Counts::default() });
    };
    let mut command = Command::new(python);
    command.current_dir(workspace.root.join("examples/python")).args(["-B", "-m", "unittest"]);
    command.env("LOOPWARDEN_COMPONENT", workspace.component());
    tests(line, &mut command, Counts::of_unittest)
}

fn js_lint(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.run(&mut workspace.npm(["run", "lint"])).map(|_| Counts::default())
}

fn js_types(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    line.run(&mut workspace.npm(["run", "types:check"])).context("the generated types are not the schemas' own")?;
    line.run(&mut workspace.npm(["run", "notices:check"])).context("what the package carries of others has changed")?;
    line.run(&mut workspace.npm(["run", "typecheck"]))?;
    line.run(&mut workspace.npm(["--prefix", "adapters", "run", "typecheck"])).map(|_| Counts::default())
}

fn js_test(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    node_test(line, &mut workspace.npm(["run", "test"]))
}

fn js_packaging(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    node_test(line, &mut workspace.npm(["run", "test:packaging"]))
}

/// The size limits apply to the modules that are shipped.
fn js_sizes(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    if workspace.build == Build::Trial {
        line.note("skipped: these modules were built quickly; `--release` builds those that are shipped");
        return Ok(Counts { skipped: 1, ..Counts::default() });
    }
    node_test(line, &mut workspace.npm(["run", "test:sizes"]))
}

fn js_adapters(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    node_test(line, &mut workspace.npm(["run", "test:adapters"]))
}

fn js_installed(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    node_test(line, &mut workspace.npm(["run", "test:installed"]))
}

fn js_state(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let mut command = workspace.npm(["run", "test:state"]);
    command.env("REDIS_SERVER", setup::redis_path().context("there is no Redis")?);
    node_test(line, &mut command)
}

fn js_conformance(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let mut command = workspace.npm(["run", "test:conformance"]);
    command.env("LOOPWARDEN_COMPONENT", workspace.component()).env("LOOPWARDEN_EXPECTED", workspace.expected());
    command.env("CHROMIUM", setup::chromium_path().context("there is no Chromium")?);
    node_test(line, &mut command)
}

fn js_view(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let mut command = workspace.npm(["run", "test:view"]);
    command.env("CHROMIUM", setup::chromium_path().context("there is no Chromium")?);
    node_test(line, &mut command)
}

fn cargo_test(line: &mut Line, command: &mut Command) -> Result<Counts> {
    tests(line, command, Counts::of_cargo)
}

fn node_test(line: &mut Line, command: &mut Command) -> Result<Counts> {
    tests(line, command, Counts::of_node)
}

/// Runs tests and counts them. A failed run counts at least one failure; a run without tests is an error.
fn tests(line: &mut Line, command: &mut Command, count: fn(&str) -> Counts) -> Result<Counts> {
    let (status, output) = line.try_run(command)?;
    let mut counts = count(&output);
    if !status.success() {
        eprintln!("\n{output}\n`{}`: {status}", shown(command));
        counts.failed = counts.failed.max(1);
    } else if counts.passed + counts.failed == 0 {
        eprintln!("\n{output}");
        bail!("`{}` ran no test", shown(command));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_is_a_step_that_comes_before() {
        for (index, step) in ALL.iter().enumerate() {
            let before: Vec<_> = ALL.iter().take(index).map(|step| step.name).collect();
            assert!(step.needs.iter().all(|need| before.contains(need)), "{}", step.name);
        }
    }

    #[test]
    fn what_a_demo_begins_with_says_how_long_it_takes() {
        for name in ["npm-ci", "wasm-tools", "core-module", "glue"] {
            let step = ALL.iter().find(|step| step.name == name).unwrap();
            assert!(!step.usually.is_empty(), "{name}");
        }
    }
}
