//! What the machine needs, and what this program installs if it can.

use crate::counts::Counts;
use crate::plan::Line;
use crate::wasm::digest;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest Node version that the package and its tools support.
const NODE: u32 = 20;

/// Checks for a C compiler and Node, and adds missing Rust targets.
pub(crate) fn toolchain(_workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    if !["cc", "gcc", "clang"].iter().any(|name| on_path(name).is_some()) {
        bail!("there is no C compiler, which rustc needs as its linker; on Debian: apt-get install build-essential");
    }
    let version = Command::new("node").arg("--version").output().ok().map(|output| output.stdout);
    let version = version.map(|text| String::from_utf8_lossy(&text).trim().to_owned()).unwrap_or_default();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        None => bail!("there is no `node` on the PATH; Loopwarden's npm package needs Node {NODE} or later"),
        Some(major) if major < NODE => {
            bail!("`node` is {version}; Loopwarden's npm package needs Node {NODE} or later")
        }
        Some(_) => {}
    }
    let targets = ["wasm32-wasip2", "wasm32-unknown-unknown"];
    let sysroot = line.run(Command::new("rustc").args(["--print", "sysroot"]))?;
    let lib = Path::new(sysroot.trim()).join("lib/rustlib");
    let missing: Vec<_> = targets.into_iter().filter(|target| !lib.join(target).is_dir()).collect();
    if !missing.is_empty() {
        let mut rustup = Command::new("rustup");
        line.run(rustup.args(["target", "add"]).args(&missing))
            .with_context(|| format!("the Rust targets {} are missing", missing.join(", ")))?;
    }
    Ok(Counts::default())
}

/// Bytes that `js/node_modules` may take. What only some steps need has its own folder: `js/test`, `js/tools`,
/// `js/adapters`.
const NODE_MODULES_BYTES: u64 = 250 << 20;

/// Installs the npm package's locked development dependencies, if they are not up to date.
///
/// # Errors
/// What was installed is larger than [`NODE_MODULES_BYTES`], which everybody who clones the repository has to wait for.
pub(crate) fn node_modules(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    if npm_ci(&workspace.js(), workspace, line)? == Installed::Now {
        let bytes = size(&workspace.js().join("node_modules"))?;
        let (megabytes, most) = (bytes >> 20, NODE_MODULES_BYTES >> 20);
        ensure!(bytes <= NODE_MODULES_BYTES, "js/node_modules takes {megabytes} MB, more than {most}");
        line.note(&format!("{megabytes} MB"));
    }
    Ok(Counts::default())
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        bytes += if kind.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// Installs what else the npm package's tests need: packages, and a Node to run them where the machine's own is too
/// old.
pub(crate) fn test_tools(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    npm_ci(&workspace.js().join("test"), workspace, line)?;
    line.run(workspace.tool("node").arg("--version")).map(|_| Counts::default())
}

/// Installs the frameworks of the adapters, several times the size of everything else, if they are not up to date.
pub(crate) fn frameworks(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    npm_ci(&workspace.js().join("adapters"), workspace, line)?;
    Ok(Counts::default())
}

#[derive(PartialEq, Eq)]
enum Installed {
    Before,
    Now,
}

fn npm_ci(folder: &Path, workspace: &Workspace, line: &mut Line) -> Result<Installed> {
    let lock = folder.join("package-lock.json");
    let wanted = digest([fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?]);
    let stamp = folder.join("node_modules/.loopwarden-lock");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(Installed::Before);
    }
    line.run(workspace.npm(["ci"]).current_dir(folder))?;
    // Also read and written by scripts/tool.mjs.
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(Installed::Now)
}

/// The interpreter of a virtual environment with the dependencies of the Python example; `None` if the machine has no
/// Python that can create one.
pub(crate) fn python(workspace: &Workspace, line: &mut Line) -> Result<Option<PathBuf>> {
    let requirements = workspace.root.join("examples/python/requirements.txt");
    let wanted = digest([fs::read(&requirements).with_context(|| format!("cannot read {}", requirements.display()))?]);
    let folder = workspace.target.join("python");
    let interpreter = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = folder.join("requirements.stamp");
    if works(&interpreter) && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(interpreter));
    }
    let Some(python) = ["python3", "python"].iter().find_map(|name| on_path(name)) else { return Ok(None) };
    let mut probe = Command::new(&python);
    probe.args(["-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))"]);
    if !line.try_run(&mut probe)?.0.success() {
        return Ok(None);
    }
    line.run(Command::new(&python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(&interpreter);
    line.run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&requirements))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(Some(interpreter))
}

/// Looks for the browser that the conformance tests drive; on Debian it is installed if missing.
pub(crate) fn chromium(_workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    if chromium_path().is_none() {
        let advice = "there is no Chromium; install one, or set CHROMIUM to the path of its executable";
        debian_package("chromium", advice, line)?;
        chromium_path().context(advice)?;
    }
    Ok(Counts::default())
}

/// Looks for the server that the fleet example is tested against; on Debian it is installed if missing.
pub(crate) fn redis(_workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    if redis_path().is_none() {
        let advice = "there is no Redis; install one, or set REDIS_SERVER to the path of `redis-server`";
        debian_package("redis-server", advice, line)?;
        redis_path().context(advice)?;
    }
    Ok(Counts::default())
}

fn debian_package(name: &str, advice: &'static str, line: &mut Line) -> Result<()> {
    if on_path("apt-get").is_none() {
        bail!("{advice}");
    }
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let prefix: &[&str] = match (root, on_path("sudo")) {
        (true, _) => &[],
        // Never ask for a password: nobody may be there to enter one.
        (false, Some(_)) => &["sudo", "--non-interactive"],
        (false, None) => bail!("{advice} (neither root nor sudo, so it cannot be installed from here)"),
    };
    for args in [&["apt-get", "update"][..], &["apt-get", "install", "--yes", "--no-install-recommends", name]] {
        let mut words = prefix.iter().chain(args);
        let mut command = Command::new(words.next().copied().unwrap_or("apt-get"));
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        line.run(&mut command).context(advice)?;
    }
    Ok(())
}

/// The Redis server: `REDIS_SERVER`, else on the `PATH` or in `/usr/bin`.
pub(crate) fn redis_path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("REDIS_SERVER").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    on_path("redis-server").or_else(|| Some(PathBuf::from("/usr/bin/redis-server")).filter(|path| works(path)))
}

/// The Chromium executable: `CHROMIUM`, else a browser of that family on the `PATH` or in `/usr/bin`.
pub(crate) fn chromium_path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("CHROMIUM").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
        .iter()
        .find_map(|name| on_path(name).or_else(|| Some(Path::new("/usr/bin").join(name)).filter(|path| works(path))))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| works(path))
}

/// Whether a program starts; a stub that only says how to install it does not count.
fn works(program: &Path) -> bool {
    if !program.is_file() {
        return false;
    }
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
