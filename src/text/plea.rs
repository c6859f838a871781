//! Whether an agent's report begins by saying that its writer is kept from working, or asks for leave to go on.

use super::words::{Lexicon, is_in, runs};

/// Words of a report within which it says so: further down, what is still to be approved is one item among others.
const WORDS: usize = 32;
/// Words that say it alone, …
const KEPT: &str = "bloccata bloccato blockiert blocked bloqueada bloqueado bloqué";
/// … what is asked for, …
const LEAVE: &str = "approbation approval approvals aprobación aprovação autorisation autorização autorización berechtigung \
    berechtigungen freigabe genehmigung permesso permessi permiso permisos permission permissions permissão permissões";
/// … and words that tell that it has not been given.
const LACKS: &str = "await awaiting benötige besoin brauche can't cannot denied don't falta fehlen fehlt grant granted lack \
    lacking manca missing necesito need needed needs no not ohne pending preciso refused require required requires \
    requiere sans sem senza servono sin unable wait waiting without";

static SAYING: Lexicon = Lexicon::of(&[KEPT, LEAVE, LACKS]);

/// Whether a report begins in this way.
pub(crate) fn pleads(report: &str) -> bool {
    let (mut asks, mut lacks) = (false, false);
    for (from, to) in runs::<b'\''>(report).take(WORDS) {
        let word = report.get(from..to).unwrap_or_default();
        if !SAYING.may_hold(word.as_bytes(), word.len()) {
            continue;
        }
        asks |= is_in(LEAVE, word);
        lacks |= is_in(LACKS, word);
        if asks && lacks || is_in(KEPT, word) {
            return true;
        }
    }
    false
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
