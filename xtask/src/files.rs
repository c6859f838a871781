//! Listing folders in an order that does not depend on the machine.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The entries of a folder, sorted by name.
///
/// # Errors
/// The folder is missing or cannot be read.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The files directly in a folder, sorted by name; none if there is no such folder.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = if folder.is_dir() { entries(folder)? } else { Vec::new() };
    paths.retain(|path| path.is_file());
    Ok(paths)
}
