//! `cargo xtask dist`: the files of a release.

use crate::plan::{self, plan};
use crate::steps;
use crate::wasm::hex;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds everything, fills the folder `dist` in cargo's target folder, and lists its contents.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    if !args.is_empty() {
        bail!("usage: cargo xtask dist");
    }
    plan::run(workspace, &plan(steps::ALL, &["schema", "component", "twice", "package"])?)?;
    let folder = workspace.target.join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;

    let component = format!("loopwarden-detector-{}.wasm", workspace.version);
    copy(&workspace.component(), &folder.join(component))?;
    let schemas = fs::read_dir(workspace.js().join("schema")).context("cannot read the schemas")?;
    for schema in schemas {
        let schema = schema?;
        copy(&schema.path(), &folder.join(schema.file_name()))?;
    }
    let mut pack = workspace.npm(["pack", "--silent", "--pack-destination"]);
    let packed = pack.arg(&folder).output().context("cannot run `npm pack`")?;
    if !packed.status.success() {
        bail!("`npm pack` failed:\n{}", String::from_utf8_lossy(&packed.stderr));
    }

    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let mut sums = String::new();
    println!("\n{:<42} {:>10} {:>10} {:>10}", "file", "raw B", "gzip B", "brotli B");
    for (path, size) in paths.iter().zip(sizes(workspace, &paths)?) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        println!("{name:<42} {:>10} {:>10} {:>10}", size.raw, size.gzip, size.brotli);
        // The format read by `sha256sum --check`.
        sums.push_str(&format!("{}  {name}\n", hex(&Sha256::digest(&bytes))));
    }
    fs::write(folder.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")?;
    println!("\n{} and SHA256SUMS", folder.display());
    Ok(0)
}

/// Size of a file in bytes.
pub(crate) struct Size {
    pub(crate) raw: u64,
    pub(crate) gzip: u64,
    pub(crate) brotli: u64,
}

/// The sizes of files, in the given order.
pub(crate) fn sizes(workspace: &Workspace, paths: &[PathBuf]) -> Result<Vec<Size>> {
    let mut command = Command::new("node");
    let output =
        command.arg(workspace.js().join("scripts/sizes.mjs")).args(paths).output().context("cannot run node")?;
    if !output.status.success() {
        bail!("the sizes cannot be told:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let size = |line: &str| {
        let mut numbers = line.split(' ').map_while(|number| number.parse().ok());
        Some(Size { raw: numbers.next()?, gzip: numbers.next()?, brotli: numbers.next()? })
    };
    let sizes: Option<Vec<Size>> = String::from_utf8_lossy(&output.stdout).lines().map(size).collect();
    sizes.filter(|sizes| sizes.len() == paths.len()).context("a file has no size")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display())).map(|_| ())
}
