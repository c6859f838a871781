//! The locations in a checkout, and the programs that work on them.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout this program was started for.
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's target folder, as configured.
    pub(crate) target: PathBuf,
    /// The version of every artefact.
    pub(crate) version: String,
    /// How the wasm artefacts are built.
    pub(crate) build: Build,
}

/// How the wasm artefacts are built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// As shipped: small, and measurements on them are valid.
    Release,
    /// Much faster to build, for trying out: the same code, neither small nor fast.
    Trial,
}

impl Build {
    /// The profile in `Cargo.toml`.
    pub(crate) fn profile(self) -> &'static str {
        match self {
            Self::Release => "wasm",
            Self::Trial => "trial",
        }
    }
}

impl Workspace {
    /// Asks cargo about the workspace, so that `CARGO_TARGET_DIR` and configuration files are respected.
    pub(crate) fn find() -> Result<Self> {
        // At run time rather than compile time: two checkouts may share a target folder and thus this binary.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("start this program as `cargo xtask`")?;
        let mut command = Command::new(cargo());
        command.args(["metadata", "--format-version=1", "--no-deps", "--manifest-path"]);
        command.arg(Path::new(&manifest).join("Cargo.toml"));
        let output = command.output().context("cannot run `cargo metadata`")?;
        if !output.status.success() {
            bail!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")?;
        let text = |value: Option<&Value>, what: &str| -> Result<String> {
            let text = value.and_then(Value::as_str);
            Ok(text.with_context(|| format!("`cargo metadata` names no {what}"))?.to_owned())
        };
        let library = metadata
            .get("packages")
            .and_then(Value::as_array)
            .and_then(|packages| packages.iter().find(|package| package.get("name") == Some(&"loopwarden".into())));
        Ok(Self {
            root: text(metadata.get("workspace_root"), "workspace_root")?.into(),
            target: text(metadata.get("target_directory"), "target_directory")?.into(),
            version: text(library.and_then(|package| package.get("version")), "version of loopwarden")?,
            build: Build::Release,
        })
    }

    /// The same checkout, built into a subfolder of the target folder.
    pub(crate) fn elsewhere(&self, folder: &str) -> Self {
        let (root, target) = (self.root.clone(), self.target.join(folder));
        Self { root, target, version: self.version.clone(), build: self.build }
    }

    /// The same checkout with another kind of wasm build.
    pub(crate) fn built(&self, build: Build) -> Self {
        let (root, target) = (self.root.clone(), self.target.clone());
        Self { root, target, version: self.version.clone(), build }
    }

    /// The folder of the npm package.
    pub(crate) fn js(&self) -> PathBuf {
        self.root.join("js")
    }

    /// The built component.
    pub(crate) fn component(&self) -> PathBuf {
        self.target.join("dist-stage/loopwarden.wasm")
    }

    /// The native library's answers to the conformance corpus.
    pub(crate) fn expected(&self) -> PathBuf {
        self.target.join("conformance/expected.jsonl")
    }

    /// A `cargo` command in the root folder.
    pub(crate) fn cargo<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target).args(args);
        // `cargo run` sets these for xtask; build scripts that watch them would run again each time.
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
                command.env_remove(name);
            }
        }
        command
    }

    /// A command of `xtask-library`, which calls the library itself.
    pub(crate) fn library<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = self.cargo(["run", "--quiet", "--package=xtask-library", "--"]);
        command.args(args);
        command
    }

    /// An `npm` command in the npm package's folder, with that package's tools first on the `PATH`.
    pub(crate) fn npm<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
        command.current_dir(self.js()).env("PATH", self.path()).args(args);
        plain(&mut command);
        command
    }

    /// A tool that only some steps need; installed on first use.
    pub(crate) fn tool(&self, name: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.js().join("scripts/tool.mjs")).arg(name);
        plain(&mut command);
        command
    }

    /// `PATH` with the npm package's tools first.
    fn path(&self) -> OsString {
        let old = env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(self.js().join("node_modules/.bin")).chain(env::split_paths(&old));
        env::join_paths(all).unwrap_or(old)
    }
}

/// No colours and no advertisements, since the output is parsed.
fn plain(command: &mut Command) {
    command.env("NO_COLOR", "1").env_remove("FORCE_COLOR");
    command.env("npm_config_fund", "false").env("npm_config_audit", "false").env("npm_config_update_notifier", "false");
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
