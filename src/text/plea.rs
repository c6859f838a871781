//! Whether an agent's report begins by saying that its writer is kept from working, or asks for leave to go on.

use super::words::{is_in, runs};

/// Words of a report within which it says so: further down, what is still to be approved is one item among others.
const WORDS: usize = 32;
/// Words that say it alone, …
const KEPT: &str = "bloccato blockiert blocked bloqueada bloqueado bloqué";
/// … what is asked for, …
const LEAVE: &str = "approval approvals autorisation autorización berechtigung freigabe genehmigung permesso permiso permisos \
    permission permissions permissão";
/// … and words that tell that it has not been given.
const LACKS: &str = "await awaiting besoin brauche can't cannot denied don't falta fehlt grant granted missing necesito need \
    needed needs no ohne pending required requires sans sem senza sin unable waiting without";
/// Bytes of the shortest word of the first two lists.
const SHORTEST: usize = 7;

/// Whether a report begins in this way.
pub(crate) fn pleads(report: &str) -> bool {
    let words = || runs::<b'\''>(report).take(WORDS).filter_map(|(from, to)| report.get(from..to));
    let says = |list: &str| words().any(|word| word.len() >= SHORTEST && is_in(list, word));
    says(KEPT) || says(LEAVE) && words().any(|word| is_in(LACKS, word))
}

#[cfg(test)]
mod tests {
    use super::pleads;
    use alloc::format;

    #[test]
    fn who_is_kept_from_working() {
        for report in [
            "I need permission to open the sluice. Once it is granted, I will grease it.",
            "**Still BLOCKED** (round 4): the sluice is closed.",
            "I see that the permissions for the lock have to be granted first.",
            "Opening the sluice requires approval by the keeper.",
            "I don't have any permission to go on board.",
            "Sigo sin permisos para abrir la esclusa.",
            "Ohne Freigabe des Wärters kann die Schleuse nicht geöffnet werden.",
        ] {
            assert!(pleads(report), "{report}");
        }
        for report in [
            "The sluice was opened, as the keeper had approved.",
            "Added permission checks to the gate of the lock; its tests pass.",
            "The approval of the keeper came at noon, so the sluice is open.",
            "",
        ] {
            assert!(!pleads(report), "{report}");
        }
        let done = "The sluice is open and its hinges are greased. ".repeat(4);
        assert!(!pleads(&format!("{done} I need permission to close it.")));
    }
}
