//! The inputs of a step, and whether they have changed since its tests last passed.

use crate::counts::Counts;
use crate::files::entries;
use crate::wasm::digest;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Generated or installed folders, read only if they are named themselves.
const MADE: [&str; 6] = ["node_modules", "dist", "glue", "target", "__pycache__", ".git"];

/// The inputs of a step, and the file that records that its tests passed on them.
pub(crate) struct Record {
    path: PathBuf,
    digest: String,
}

impl Record {
    /// Reads a step's inputs: files and folders of the checkout, or `@component` and `@expected` for those artefacts.
    /// `None` for a step without inputs.
    ///
    /// # Errors
    /// An input is missing or cannot be read.
    pub(crate) fn of(workspace: &Workspace, step: &str, reads: &[&str]) -> Result<Option<Self>> {
        if reads.is_empty() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        // This program determines what a step does.
        for name in reads.iter().chain(&["xtask", "Cargo.lock"]) {
            let path = match *name {
                "@component" => workspace.component(),
                "@expected" => workspace.expected(),
                name => workspace.root.join(name),
            };
            collect(&path, &workspace.root, &mut parts)?;
        }
        Ok(Some(Self { path: workspace.target.join("passed").join(step), digest: digest(parts) }))
    }

    /// The tests that passed on exactly these inputs, if any.
    pub(crate) fn passed(&self) -> Option<Counts> {
        let text = fs::read_to_string(&self.path).ok()?;
        let mut words = text.split(' ');
        (words.next()? == self.digest).then_some(())?;
        let mut number = || words.next()?.trim().parse().ok();
        Some(Counts { passed: number()?, failed: 0, skipped: number()? })
    }

    /// Records that these tests passed. If that fails, they only run again.
    pub(crate) fn pass(&self, counts: Counts) {
        let note = format!("{} {} {}", self.digest, counts.passed, counts.skipped);
        let _ = self.path.parent().map(fs::create_dir_all);
        let _ = fs::write(&self.path, note);
    }
}

/// Adds the path and content of a file, or of all files below a folder, sorted by name.
pub(crate) fn collect(path: &Path, root: &Path, parts: &mut Vec<Vec<u8>>) -> Result<()> {
    if !path.is_dir() {
        let name = path.strip_prefix(root).unwrap_or(path);
        parts.push(name.to_string_lossy().into_owned().into_bytes());
        parts.push(fs::read(path).with_context(|| format!("cannot read {}", path.display()))?);
        return Ok(());
    }
    for path in entries(path)? {
        let made = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| MADE.contains(&name));
        // A link may lead outside the checkout, or nowhere; npm's links are below folders that were left out anyway.
        if !made && !path.is_symlink() {
            collect(&path, root, parts)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Build;

    #[test]
    fn a_step_is_unchanged_until_an_input_is() {
        let root = std::env::temp_dir().join(format!("loopwarden-inputs-{}", std::process::id()));
        for folder in ["src/node_modules", "xtask"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("Cargo.lock"), "1").unwrap();
        fs::write(root.join("src/a.rs"), "1").unwrap();
        let workspace = Workspace {
            root: root.clone(),
            target: root.join("target"),
            version: "0.0.0".to_owned(),
            build: Build::Release,
        };
        let record = || Record::of(&workspace, "native", &["src"]).unwrap().unwrap();
        let counts = Counts { passed: 7, failed: 0, skipped: 1 };

        assert_eq!(record().passed(), None, "it never ran");
        record().pass(counts);
        assert_eq!(record().passed(), Some(counts));
        fs::write(root.join("src/node_modules/b.js"), "1").unwrap();
        assert_eq!(record().passed(), Some(counts), "what is installed is no input");
        fs::write(root.join("src/a.rs"), "2").unwrap();
        assert_eq!(record().passed(), None, "a file changed");
        fs::rename(root.join("src/a.rs"), root.join("src/c.rs")).unwrap();
        record().pass(counts);
        fs::rename(root.join("src/c.rs"), root.join("src/a.rs")).unwrap();
        assert_eq!(record().passed(), None, "a file was renamed");
        assert!(Record::of(&workspace, "native", &["missing"]).is_err());
        assert!(Record::of(&workspace, "native", &[]).unwrap().is_none());
        fs::remove_dir_all(root).unwrap();
    }
}
