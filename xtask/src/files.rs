//! Files of folders, in an order that does not depend on the machine.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// What is in a folder, in the order of its names.
///
/// # Errors
/// A folder that is missing or cannot be read.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The files of a folder, without those of folders in it; none where there is no folder.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = if folder.is_dir() { entries(folder)? } else { Vec::new() };
    paths.retain(|path| path.is_file());
    Ok(paths)
}
